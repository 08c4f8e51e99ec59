from .colour_mean import ColourMean


def get_tracker_class():
    return ColourMean
