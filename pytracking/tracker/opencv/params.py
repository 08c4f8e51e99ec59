"""Parameters of OpenCV's trackers."""
from __future__ import annotations

from dataclasses import dataclass

from pytracking.tracker.base import TrackerParams


@dataclass(kw_only=True, slots=True)
class OpenCVParams(TrackerParams):
    """Which of OpenCV's trackers, and on which networks."""

    algorithm: str  # "csrt", "kcf", "mil", "nano" or "vit"
    head_weights: str | None = None  # nano: file name of its second network, in the folder of the first
