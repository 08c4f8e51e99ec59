"""Runs the toolkit's experiments without TraX: its own reset loop and storage, with the tracker in this process.

An :class:`InProcessTracker` replaces a registered tracker. The toolkit asks it for a runtime, and gets one that calls
the tracker directly instead of starting a process. Everything else (resets, repetitions, real-time simulation, result
files) is the toolkit's code, so the results are the same.
"""
from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import TextIO

from vot.dataset import Frame
from vot.region import Polygon, Rectangle, Region
from vot.tracker import ObjectStatus, Tracker, TrackerException, TrackerRuntime

from pytracking.tracker.base import BaseTracker
from pytracking.vot_integration.regions import RegionError, on_the_wire
from pytracking.vot_integration.session import VotSession

Clock = Callable[[], float]


class InProcessTracker(Tracker):
    """A toolkit tracker that runs in this process; its network stays loaded between sequences.

    ``clock`` measures the time in real-time experiments.
    """

    def __init__(
        self, identifier: str, tracker: BaseTracker, *, label: str | None = None, version: str | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        super().__init__(_identifier=identifier, _source=".", command="", label=label, version=version)
        self._base_tracker = tracker
        self._clock = clock
        self.timeout: float | None = None  # seconds; a longer call writes its stack to `log` and ends the process
        self.log: TextIO | None = None
        self.repetitions: Sequence[int] = ()  # to compute on the next sequence, see SeedSchedule

    def runtime(self, log: bool = False) -> InProcessRuntime:
        """Creates a runtime for one sequence; ``log`` is ignored."""
        session = VotSession(
            self._base_tracker, repetitions=self.repetitions, timeout=self.timeout, give_up=True, log=self.log
        )
        return InProcessRuntime(self, session, self._clock)


class InProcessRuntime(TrackerRuntime):
    """Calls a tracker instead of sending it messages; numbers are rounded as in TraX messages."""

    def __init__(self, tracker: Tracker, session: VotSession, clock: Clock) -> None:
        super().__init__(tracker)
        self._session = session
        self._clock = clock

    def stop(self) -> None:
        """Nothing to stop."""

    def restart(self) -> None:
        """Nothing to restart: every initialisation starts the tracker again."""

    def initialize(self, frame: Frame, new=None, properties=None) -> tuple[ObjectStatus, float]:
        """Initialises the tracker on a frame's ground truth; returns its state and the elapsed seconds."""
        numbers = on_the_wire(region_numbers(_single_region(new)))
        box, elapsed = self._timed(lambda: self._session.start(frame.filename("color"), numbers))
        return ObjectStatus(Rectangle(*on_the_wire(box)), {}), elapsed

    def update(self, frame: Frame, new=None, properties=None) -> tuple[ObjectStatus, float]:
        """Tracks the target in a frame; returns the tracker's state and the elapsed seconds."""
        (box, confidence), elapsed = self._timed(lambda: self._session.follow(frame.filename("color")))
        return ObjectStatus(Rectangle(*on_the_wire(box)), {"confidence": confidence}), elapsed

    def _timed(self, call: Callable):
        start = self._clock()
        try:
            answer = call()
        except Exception as error:  # any error of a tracker goes to the toolkit's log
            reason = f"{type(error).__name__}: {error}"
            raise TrackerException(reason, tracker=self.tracker, tracker_log=traceback.format_exc()) from error
        return answer, self._clock() - start


def _single_region(objects) -> Region:
    """Unpacks what experiments pass: a region, its status, or a list with one of them."""
    if isinstance(objects, list):
        (objects,) = objects
    return objects.region if isinstance(objects, ObjectStatus) else objects


def region_numbers(region: Region) -> list[float]:
    """The numbers of a toolkit rectangle or polygon."""
    if isinstance(region, Rectangle):
        return [region.x, region.y, region.width, region.height]
    if isinstance(region, Polygon):
        return [number for point in region.points() for number in point]
    raise RegionError(f"cannot start on a region of type {type(region).__name__}, only on rectangles and polygons")
