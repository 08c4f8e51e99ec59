"""OpenCV's trackers, for comparison: csrt, kcf and mil; nano and vit, which use ONNX networks."""
from pytracking.tracker.opencv.opencv import OpenCVTracker


def get_tracker_class() -> type[OpenCVTracker]:
    return OpenCVTracker
