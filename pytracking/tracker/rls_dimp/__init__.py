"""RLS-DiMP: DiMP whose filter is updated by gradient descent preconditioned with recursive least squares."""


def get_tracker_class() -> type:
    from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker

    return RLSDimpTracker
