from .net_filter import NetFilter


def get_tracker_class():
    return NetFilter
