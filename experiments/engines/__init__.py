"""Engines that run an experiment's tasks."""
