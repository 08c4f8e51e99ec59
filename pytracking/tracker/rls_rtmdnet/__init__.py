"""RLS-RTMDNet: RT-MDNet whose last layers learn online by recursive least squares (Algorithm 1 of the paper)."""


def get_tracker_class() -> type:
    from pytracking.tracker.rls_rtmdnet.rls_rtmdnet import RLSRtmdnetTracker

    return RLSRtmdnetTracker
