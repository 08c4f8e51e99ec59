"""The first box forever."""
from pytracking.tracker.identity.params import IdentityParams


def parameters() -> IdentityParams:
    return IdentityParams()
