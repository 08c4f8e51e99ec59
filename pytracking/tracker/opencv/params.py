"""Parameters of OpenCV's trackers."""
from dataclasses import dataclass

from pytracking.tracker.base import TrackerParams


@dataclass(kw_only=True, slots=True)
class OpenCVParams(TrackerParams):
    """Selects one of OpenCV's trackers and its networks."""

    algorithm: str  # "csrt", "kcf", "mil", "nano" or "vit"
    head_weights: str | None = None  # for nano: file name of the second network, in the folder of the first
