"""KCF, run by OpenCV."""
from pytracking.tracker.opencv.params import OpenCVParams


def parameters() -> OpenCVParams:
    return OpenCVParams(algorithm="kcf")
