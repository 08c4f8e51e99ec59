"""NanoTrack v2, run by OpenCV."""
from pytracking.tracker.opencv.params import OpenCVParams


def parameters() -> OpenCVParams:
    return OpenCVParams(algorithm="nano", weights="nanotrack_v2_backbone.onnx", head_weights="nanotrack_v2_head.onnx")
