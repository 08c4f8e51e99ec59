"""A page in the browser that tracks one's own video; started by ``python -m pytracking serve``."""
