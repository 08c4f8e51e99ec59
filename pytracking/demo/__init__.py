"""Renders the demo sequences in integer arithmetic, so that every machine gets the same pixels."""
