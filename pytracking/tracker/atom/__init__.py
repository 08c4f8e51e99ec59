"""ATOM (Danelljan et al., 2019): DiMP's predecessor, whose classifier is learnt entirely online."""


def get_tracker_class() -> type:
    from pytracking.tracker.atom.atom import AtomTracker

    return AtomTracker
