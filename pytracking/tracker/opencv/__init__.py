"""OpenCV's own trackers, for comparison: csrt, kcf, mil, and with ONNX networks nano and vit."""
from pytracking.tracker.opencv.opencv import OpenCVTracker


def get_tracker_class() -> type[OpenCVTracker]:
    return OpenCVTracker
