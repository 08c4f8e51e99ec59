from .state_filter import StateFilter


def get_tracker_class():
    return StateFilter
