"""RT-MDNet and simpleRT-MDNet score random boxes with a network whose last layers learn online."""


def get_tracker_class() -> type:
    from pytracking.tracker.rtmdnet.rtmdnet import RtmdnetTracker

    return RtmdnetTracker
