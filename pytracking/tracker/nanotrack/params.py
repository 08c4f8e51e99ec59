"""Parameters of NanoTrack."""
from dataclasses import dataclass

from pytracking.tracker.base import TrackerParams


@dataclass(kw_only=True, slots=True)
class NanoTrackParams(TrackerParams):
    """Parameters of NanoTrack."""

    head_weights: str  # file name of the second network, in the folder of the first
    template_side: int = 127  # pixels
    search_side: int = 255  # pixels
    stride: int = 16  # search pixels per cell of the score map
    context: float = 0.5  # margin around the target, mean sides
    size_penalty: float = 0.138  # on changes of size and shape since the last frame
    window_influence: float = 0.455  # weight of the cosine window in the score
    size_rate: float = 0.348  # damping: fraction of the size change that is applied at score 1
    minimum_side: float = 10.0  # of the target, pixels
