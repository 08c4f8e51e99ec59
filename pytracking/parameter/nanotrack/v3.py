"""NanoTrack v3 with its published settings."""
from pytracking.tracker.nanotrack.params import NanoTrackParams


def parameters() -> NanoTrackParams:
    return NanoTrackParams(weights="nanotrack_v3_backbone.onnx", head_weights="nanotrack_v3_head.onnx")
