"""RLS-ATOM: ATOM whose filter is updated by gradient descent preconditioned with recursive least squares."""


def get_tracker_class() -> type:
    from pytracking.tracker.rls_atom.rls_atom import RLSAtomTracker

    return RLSAtomTracker
