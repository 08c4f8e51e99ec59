"""A tracker that is started again and again: what the TraX server and the in-process runner have in common."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.evaluation.seeds import seed_for
from pytracking.evaluation.tracker import TrackerOutputError
from pytracking.tracker.base import BaseTracker
from pytracking.utils.image_io import read_image
from pytracking.vot.regions import CONVERSIONS, box_from_region

TrackerFactory = Callable[[], BaseTracker]
NO_SCORE = 1.0  # confidence of a tracker that does not score itself
DEFAULT_CONVERSION = CONVERSIONS[0]


class SeedSchedule:
    """Seeds of successive initialisations, equal in every engine and after a resumed run.

    The toolkit starts the tracker anew at the first frame for each repetition and after each failure, and tells neither
    the repetition nor the sequence. A repetition therefore begins whenever the first image comes back.

    Args:
        first_run: repetitions that were completed before this session.
    """

    def __init__(self, first_run: int = 0) -> None:
        self._run = first_run - 1
        self._first_image: str | None = None

    def next(self, image_path: str | Path) -> int:
        """The seed for an initialisation on this image."""
        # Sequence and file name, but not where the workspace lies.
        image = "/".join(Path(image_path).parts[-3:])
        if self._first_image is None:
            self._first_image = image
        if image == self._first_image:
            self._run += 1
        return seed_for(self._run, image)


class TrackingSession:
    """One tracker, started many times; its network is loaded once.

    Args:
        tracker: the tracker.
        conversion: how polygons become boxes; None takes the tracker's ``vot_anno_conversion_type`` if it has one.
        first_run: see :class:`SeedSchedule`.
    """

    def __init__(self, tracker: BaseTracker, *, conversion: str | None = None, first_run: int = 0) -> None:
        self._tracker = tracker
        self._conversion = conversion or conversion_of(tracker.params)
        self._seeds = SeedSchedule(first_run)

    def start(self, image_path: str | Path, region: Sequence[float]) -> list[float]:
        """Starts on a region of an image; returns the box made of it."""
        box = box_from_region(region, self._conversion).tolist()
        info = {"init_bbox": list(box), "seed": self._seeds.next(image_path)}
        self._tracker.initialize(read_image(image_path), info)
        return box

    def follow(self, image_path: str | Path) -> tuple[list[float], float]:
        """Box and confidence in the next image.

        Raises:
            TrackerOutputError: if the box is not four finite numbers, or has a negative size.
        """
        output = self._tracker.track(read_image(image_path))
        return checked_box(output, image_path), _confidence(output)


def conversion_of(params: Any) -> str:
    """The conversion of polygons that a tracker's parameters ask for (DiMP's do), else VOT's usual one."""
    return getattr(params, "vot_anno_conversion_type", None) or DEFAULT_CONVERSION


def checked_box(output: dict[str, Any], image_path: str | Path) -> list[float]:
    """The ``target_bbox`` of a tracker's answer as four floats, or a :class:`TrackerOutputError`."""
    try:
        box = np.asarray(output["target_bbox"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise TrackerOutputError(f"{image_path}: the tracker returned no 'target_bbox' of four numbers") from error
    if box.shape != (4,) or not np.isfinite(box).all():
        raise TrackerOutputError(f"{image_path}: the tracker returned the box {box.tolist()}, not four finite numbers")
    if (box[2:] < 0).any():
        raise TrackerOutputError(f"{image_path}: the tracker returned the box {box.tolist()}, of negative size")
    return box.tolist()


def _confidence(output: dict[str, Any]) -> float:
    score = output.get("score")
    return NO_SCORE if score is None else float(score)
