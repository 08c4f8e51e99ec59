from pytracking.tracker.identity import IdentityParams


def parameters() -> IdentityParams:
    return IdentityParams()
