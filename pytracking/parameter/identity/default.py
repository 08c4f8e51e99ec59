"""The first box for ever."""
from pytracking.tracker.identity.params import IdentityParams


def parameters() -> IdentityParams:
    return IdentityParams()
