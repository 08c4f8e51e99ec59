"""Layers under the names that pytracking's trackers use."""
