"""Visual tracking with online learning that does not forget: trackers, evaluation and analysis.

>>> tracker = pytracking.load("rls_dimp/default")
>>> tracker.init(frame, box)
>>> result = tracker.update(next_frame)  # {'target_bbox': [x, y, w, h], ...}
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytracking.utils.upstream import upstream_names

if TYPE_CHECKING:
    from pytracking.evaluation.handle import TrackerHandle

__all__ = ["load"]
__version__ = "0.2.0"


def load(name: str, param: str | None = None, *, seed: int = 0, **overrides: Any) -> TrackerHandle:
    """Creates a tracker for use in your own program; its network is loaded here, once.

    Args:
        name: the tracker, with or without its parameter file and network: ``"rls_dimp"``, ``"rls_dimp/default"`` or
            ``"rls_dimp/default@dimp_mobile"``.
        param: the parameter file, if ``name`` does not include it (default: ``default``).
        seed: seeds everything random in the tracker.
        overrides: parameters to change, e.g. ``device="cpu"``.

    Raises:
        UnknownTrackerError: if there is no such tracker or parameter file.
        MissingWeightsError: if its network is not on this machine.
    """
    from pytracking.evaluation.handle import TrackerHandle  # here so that `import pytracking` stays instant
    from pytracking.evaluation.reference import TrackerReference

    reference = TrackerReference.parse(name if param is None else f"{name}/{param}")
    return TrackerHandle(
        reference.tracker, reference.parameters, seed=seed, network=reference.network, overrides=overrides
    )


__getattr__ = upstream_names(__name__)
