"""Renders the demo sequences: integer arithmetic only, so that every machine gets the same pixels."""
