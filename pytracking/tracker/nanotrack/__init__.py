"""NanoTrack v3, as a light peer to compare with: a Siamese network that onnxruntime runs."""


def get_tracker_class() -> type:
    from pytracking.tracker.nanotrack.nanotrack import NanoTrack

    return NanoTrack
