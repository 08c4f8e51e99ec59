"""A tracker that is started again and again: what the TraX server and the in-process runner have in common."""
from __future__ import annotations

import contextlib
import faulthandler
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.evaluation.seeds import seed_for
from pytracking.tracker.base import BaseTracker
from pytracking.utils.image_io import read_image
from pytracking.vot_integration.regions import box_from_region

TrackerFactory = Callable[[], BaseTracker]
NO_SCORE = 1.0  # confidence of a tracker that does not score itself


class SeedSchedule:
    """Seeds of successive initialisations, equal in every engine and after a resumed run.

    The toolkit starts the tracker again at the first frame for each repetition and after each failure, and names
    neither the repetition nor the sequence. A repetition therefore begins whenever the first image comes back.

    Args:
        repetitions: numbers (from 0) of those to compute, where some exist already; by default 0, 1, 2 and so on.
    """

    def __init__(self, repetitions: Sequence[int] = ()) -> None:
        self._repetitions = itertools.chain(repetitions, itertools.count(max(repetitions, default=-1) + 1))
        self._current = 0
        self._first_image: str | None = None

    def next(self, image_path: str | Path) -> int:
        """The seed for an initialisation on this image."""
        # Sequence and file name, but not where the workspace lies.
        image = "/".join(Path(image_path).parts[-3:])
        if self._first_image is None:
            self._first_image = image
        if image == self._first_image:
            self._current = next(self._repetitions)
        return seed_for(self._current, image)


class VotSession:
    """One tracker, started many times; its network is loaded once.

    Args:
        conversion: how polygons become boxes; None: as the tracker's parameters say, ``vot_anno_conversion_type``.
        repetitions: see :class:`SeedSchedule`.
        timeout, give_up, log: see :func:`stack_on_hang`, which watches every call.
    """

    def __init__(
        self,
        tracker: BaseTracker,
        *,
        conversion: str | None = None,
        repetitions: Sequence[int] = (),
        timeout: float | None = None,
        give_up: bool = False,
        log: TextIO | None = None,
    ) -> None:
        self._loop = FrameLoop(tracker)
        self._conversion = conversion or tracker.params.vot_anno_conversion_type
        self._seeds = SeedSchedule(repetitions)
        self._watch = lambda: stack_on_hang(timeout, give_up=give_up, log=log)

    def start(self, image_path: str | Path, region: Sequence[float]) -> list[float]:
        """Starts on a region of an image; returns the box made of it."""
        box = box_from_region(region, self._conversion).tolist()
        seed = self._seeds.next(image_path)
        with self._watch():
            self._loop.start(read_image(image_path), box, seed=seed, where=str(image_path))
        return box

    def follow(self, image_path: str | Path) -> tuple[list[float], float]:
        """Box and confidence in the next image."""
        with self._watch():
            result = self._loop.next(read_image(image_path), where=str(image_path))
        return result.box, NO_SCORE if result.score is None else result.score


@contextlib.contextmanager
def stack_on_hang(timeout: float | None, *, give_up: bool = False, log: TextIO | None = None) -> Iterator[None]:
    """Writes the stack of all threads to ``log`` or standard error if the block takes longer than ``timeout`` seconds.

    ``give_up`` ends the process then, without any clean-up: nothing gentler stops native code.
    """
    if timeout is None:
        yield
        return
    faulthandler.dump_traceback_later(timeout, exit=give_up, file=log or sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
