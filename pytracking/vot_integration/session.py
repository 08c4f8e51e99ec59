"""Runs one tracker through many initialisations; shared by the TraX server and the in-process runner."""
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
NO_SCORE = 1.0  # confidence for trackers without scores


class SeedSchedule:
    """Seeds of successive initialisations, the same in every engine and in resumed runs.

    The toolkit initialises the tracker on the first frame for each repetition, and again after each failure, but names
    neither the repetition nor the sequence. A repetition is therefore counted whenever the first image occurs again.

    Args:
        repetitions: numbers (from 0) of the repetitions to compute, if some already exist; by default 0, 1, 2, ...
    """

    def __init__(self, repetitions: Sequence[int] = ()) -> None:
        self._repetitions = itertools.chain(repetitions, itertools.count(max(repetitions, default=-1) + 1))
        self._current = 0
        self._first_image: str | None = None

    def next(self, image_path: str | Path) -> int:
        """Returns the seed for an initialisation on this image."""
        image = "/".join(Path(image_path).parts[-3:])  # sequence and file name, without the workspace
        if self._first_image is None:
            self._first_image = image
        if image == self._first_image:
            self._current = next(self._repetitions)
        return seed_for(self._current, image)


class VotSession:
    """One tracker, initialised many times; its network is loaded once.

    Args:
        conversion: of polygons to boxes; None: the tracker's parameter ``vot_anno_conversion_type``.
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
        """Initialises the tracker on a region of an image; returns the region's box."""
        box = box_from_region(region, self._conversion).tolist()
        seed = self._seeds.next(image_path)
        with self._watch():
            self._loop.start(read_image(image_path), box, seed=seed, where=str(image_path))
        return box

    def follow(self, image_path: str | Path) -> tuple[list[float], float]:
        """Tracks the target in the next image; returns its box and confidence."""
        with self._watch():
            result = self._loop.next(read_image(image_path), where=str(image_path))
        return result.box, NO_SCORE if result.score is None else result.score


@contextlib.contextmanager
def stack_on_hang(timeout: float | None, *, give_up: bool = False, log: TextIO | None = None) -> Iterator[None]:
    """Writes the stack of all threads to ``log`` or standard error if the block takes longer than ``timeout`` seconds.

    ``give_up`` also ends the process, without clean-up: nothing else stops native code.
    """
    if timeout is None:
        yield
        return
    faulthandler.dump_traceback_later(timeout, exit=give_up, file=log or sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
