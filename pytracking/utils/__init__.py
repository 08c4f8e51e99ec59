"""Small shared functions."""
from pytracking.utils.upstream import upstream_names

__getattr__ = upstream_names(__name__)
