"""Small functions shared by several packages."""
from pytracking.utils.upstream import upstream_names

__getattr__ = upstream_names(__name__)
