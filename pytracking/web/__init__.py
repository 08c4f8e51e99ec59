"""A page in the browser that tracks your own video; started by ``pytracking serve``."""
