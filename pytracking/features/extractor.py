"""pytracking's place for :mod:`pytracking.compat.features`."""
from pytracking.compat.features import MultiResolutionExtractor  # noqa: F401
