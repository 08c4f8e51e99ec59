"""A tracker object over the frames of a sequence."""
from __future__ import annotations

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
    """What a tracker said about one sequence."""

    boxes: np.ndarray  # (n, 4), x y w h; the first is the given one
    times: np.ndarray  # (n,), seconds inside the tracker; the first is the initialisation
    scores: np.ndarray | None  # (n,), the tracker's own score, NaN where it gave none; None: it never did
    computing: dict[str, Any] = field(default_factory=dict)  # engine and threads, where the tracker has a choice

    def __getitem__(self, name: str) -> list[Any]:
        """By pytracking's names: ``target_bbox``, ``time`` and ``object_presence_score``, lists over frames."""
        values = {"target_bbox": self.boxes, "time": self.times, "object_presence_score": self.scores}[name]
        return [] if values is None else values.tolist()


def track_sequence(
    tracker: Any, sequence: Sequence, *, seed: int = 0, progress: Callable[[int], None] | None = None
) -> SequenceOutput:
    """Runs a tracker object over a sequence; errors name sequence, frame and file.

    Only the time inside the tracker is counted, not the reading of frames.
    """
    loop = FrameLoop(tracker)
    boxes = np.empty((len(sequence), 4))
    times = np.empty(len(sequence))
    scores = np.full(len(sequence), np.nan)
    later = read_ahead(map(sequence.load_frame, range(1, len(sequence))))
    with own_torch_threads(tracker), closing(later) as images:
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
