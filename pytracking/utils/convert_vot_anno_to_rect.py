"""Upstream pytracking's path to :func:`pytracking.compat.text.convert_vot_anno_to_rect`."""
from pytracking.compat.text import convert_vot_anno_to_rect  # noqa: F401
