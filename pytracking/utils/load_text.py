"""Upstream pytracking's path to :func:`pytracking.compat.text.load_text`."""
from pytracking.compat.text import load_text  # noqa: F401
