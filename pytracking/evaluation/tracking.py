"""Runs a tracker object over the frames of a sequence."""
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.read_ahead import read_ahead
from pytracking.utils.threads import own_torch_threads


@dataclass
class SequenceOutput:
    """A tracker's output for one sequence."""

    boxes: np.ndarray  # (n, 4), x y w h; the first is the initial box
    times: np.ndarray  # (n,), seconds spent in the tracker; the first is the initialisation
    scores: np.ndarray | None  # (n,), the tracker's own score, NaN in frames without one; None: it has none at all
    computing: dict[str, Any] = field(default_factory=dict)  # engine and threads, if the tracker has a choice

    def __getitem__(self, name: str) -> list[Any]:
        """Lists over frames by pytracking's names: ``target_bbox``, ``time``, ``object_presence_score``."""
        values = {"target_bbox": self.boxes, "time": self.times, "object_presence_score": self.scores}[name]
        return [] if values is None else values.tolist()


def track_sequence(
    tracker: Any, sequence: Sequence, *, seed: int = 0, progress: Callable[[int], None] | None = None
) -> SequenceOutput:
    """Runs a tracker object over a sequence; errors name sequence, frame and file.

    Times include only the tracker, not the reading of frames.
    """
    loop = FrameLoop(tracker)
    boxes = np.empty((len(sequence), 4))
    times = np.empty(len(sequence))
    scores = np.full(len(sequence), np.nan)
    later_images = read_ahead(map(sequence.load_frame, range(1, len(sequence))))
    with own_torch_threads(tracker), closing(later_images) as images:
        for index in range(len(sequence)):
            if index == 0:
                result = loop.start_sequence(sequence, seed)
            else:
                where = f"frame {index + 1} of sequence '{sequence.name}' ({sequence.frames[index]})"
                result = loop.next(next(images), where)
            boxes[index], times[index] = result.box, result.seconds
            scores[index] = np.nan if result.score is None else result.score
            if progress is not None:
                progress(index + 1)
    return SequenceOutput(boxes, times, None if np.isnan(scores).all() else scores, dict(tracker.computing))
