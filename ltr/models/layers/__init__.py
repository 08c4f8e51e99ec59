"""Layers by the names that pytracking's trackers use."""
