"""OxUvA's measures of long-term tracking: is the target present, and where?

The labels are sparse: about one frame in 30 is labelled "absent", or "present" with a box. TPR is the fraction of
present labels reported present with an overlap of at least one half, TNR the fraction of absent labels reported absent,
GM their geometric mean. A tracker that always answers "present" has TNR = 0 and GM = 0; MaxGM is the best GM it could
reach by answering "absent" at random with probability p (Valmadre et al., ECCV 2018).
"""
from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ltr.errors import UserError
from pytracking.analysis import metrics
from pytracking.analysis.frames import clip_boxes

LOCATED = 0.5  # minimum overlap for a target to count as found


@dataclass(frozen=True)
class PresenceCounts:
    """Label counts of one or more tracks."""

    found: int  # present, reported present and located
    present: int
    reported_absent: int  # absent and reported absent
    absent: int

    def __add__(self, other: PresenceCounts) -> PresenceCounts:
        return PresenceCounts(*map(operator.add, astuple(self), astuple(other)))

    @property
    def tpr(self) -> float:
        """True-positive rate; NaN if no label is present."""
        return self.found / self.present if self.present else float("nan")

    @property
    def tnr(self) -> float:
        """True-negative rate; NaN if no label is absent."""
        return self.reported_absent / self.absent if self.absent else float("nan")

    @property
    def gm(self) -> float:
        """Geometric mean of TPR and TNR."""
        return float(np.sqrt(self.tpr * self.tnr))

    @property
    def max_gm(self) -> float:
        """Largest GM reachable by changing answers to "absent" at random."""
        return max_gm(self.tpr, self.tnr)


def presence_counts(
    prediction: ArrayLike,
    reported_present: ArrayLike | None,
    ground_truth: ArrayLike,
    label_frames: ArrayLike,
    label_present: ArrayLike,
    *,
    image_size: tuple[float, float] | None = None,
) -> PresenceCounts:
    """Compares one track with its labels.

    Args:
        prediction: boxes (n, 4).
        reported_present: (n,) the tracker's answers; None means always present.
        ground_truth: boxes (n, 4); only labelled rows are read.
        label_frames: (m,) labelled frames; the first frame, in which the tracker is given the box, does not count.
        label_present: (m,) whether each label is "present".
        image_size: (width, height) to clip predictions to.
    """
    boxes = metrics.as_boxes(prediction, "prediction")
    reported = np.ones(len(boxes), bool) if reported_present is None else np.asarray(reported_present, bool)
    frames, present = np.asarray(label_frames, int), np.asarray(label_present, bool)
    frames, present = frames[frames > 0], present[frames > 0]
    if frames.size and frames.max() >= len(boxes):
        raise UserError(f"prediction: {len(boxes)} boxes, but frame {frames.max() + 1} has a label")
    if image_size is not None:
        boxes = clip_boxes(boxes, image_size)
    truth = metrics.as_boxes(ground_truth, "ground_truth")
    shown, hidden = frames[present], frames[~present]
    located = metrics.overlap(boxes[shown], truth[shown]) >= LOCATED
    return PresenceCounts(
        found=int((reported[shown] & located).sum()),
        present=len(shown),
        reported_absent=int((~reported[hidden]).sum()),
        absent=len(hidden),
    )


def pool(counts: Iterable[PresenceCounts]) -> PresenceCounts:
    """Adds up the counts of all tracks, as OxUvA scores them."""
    return sum(counts, PresenceCounts(0, 0, 0, 0))


def max_gm(tpr: float, tnr: float) -> float:
    """Returns ``max over p of sqrt((1 - p) TPR ((1 - p) TNR + p))`` in closed form.

    With q = 1 - p the square is ``TPR q (1 - q (1 - TNR))``, a parabola with its maximum at q = 1 / (2 (1 - TNR)).
    """
    q = 1.0 if tnr >= 0.5 else 1.0 / (2.0 * (1.0 - tnr))
    return float(np.sqrt(tpr * q * (1.0 - q * (1.0 - tnr))))
