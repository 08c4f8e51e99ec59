"""NanoTrack v3, a small Siamese tracker on onnxruntime, for comparison."""


def get_tracker_class() -> type:
    from pytracking.tracker.nanotrack.nanotrack import NanoTrack

    return NanoTrack
