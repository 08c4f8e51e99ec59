"""A browser page that tracks your own videos; started by ``pytracking serve``."""
