"""Visual tracking that learns online and does not forget: trackers, evaluation and analysis.

    >>> tracker = pytracking.load("rls_dimp", "default")
    >>> tracker.init(frame, box)
    >>> result = tracker.update(next_frame)  # {'target_bbox': [x, y, w, h], ...}
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytracking.evaluation.handle import TrackerHandle

__all__ = ["load"]


def load(name: str, param: str = "default", *, seed: int = 0, **overrides: Any) -> TrackerHandle:
    """Gets a tracker ready for use in one's own program; its network is loaded once, here.

    Args:
        name: the tracker, e.g. ``"rls_dimp"``.
        param: its parameter file.
        seed: everything random in the tracker derives from it.
        overrides: parameters to change, e.g. ``device="cpu"``.

    Raises:
        UnknownTrackerError: if there is no such tracker or parameter file.
        MissingWeightsError: if its network is not on this machine.
    """
    from pytracking.evaluation.handle import TrackerHandle  # here so that `import pytracking` stays instant
    from pytracking.utils.notices import plain_warnings

    with plain_warnings():
        return TrackerHandle(name, param, seed=seed, overrides=overrides)
