"""OxUvA's measures of long-term tracking: whether the target is present, and where.

The labels are sparse: one in 30 frames or so says "absent", or "present" and where. TPR is the fraction of present
labels that were reported present with an overlap of at least one half, TNR the fraction of absent labels that were
reported absent, GM their geometric mean. A tracker that always answers "present" has TNR = 0 and GM = 0; MaxGM asks
what it could reach by answering "absent" at random with probability p (Valmadre et al., ECCV 2018).
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

LOCATED = 0.5  # least overlap at which a target counts as found


@dataclass(frozen=True)
class PresenceCounts:
    """Labels of one or more tracks, counted."""

    found: int  # present, reported present, and located
    present: int
    reported_absent: int  # absent, and reported so
    absent: int

    def __add__(self, other: PresenceCounts) -> PresenceCounts:
        return PresenceCounts(*map(operator.add, astuple(self), astuple(other)))

    @property
    def tpr(self) -> float:
        """True-positive rate; NaN without a present label."""
        return self.found / self.present if self.present else float("nan")

    @property
    def tnr(self) -> float:
        """True-negative rate; NaN without an absent label."""
        return self.reported_absent / self.absent if self.absent else float("nan")

    @property
    def gm(self) -> float:
        """Geometric mean of both."""
        return float(np.sqrt(self.tpr * self.tnr))

    @property
    def max_gm(self) -> float:
        """The largest GM within reach by turning answers into "absent" at random."""
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
        reported_present: (n,) what the tracker said; None: it always says present.
        ground_truth: boxes (n, 4); only labelled rows are read.
        label_frames: (m,) frames that have a label; the first frame, where the tracker was told, does not count.
        label_present: (m,) whether the label says present.
        image_size: (width, height) to clip predictions to.
    """
    boxes = metrics.as_boxes(prediction, "prediction")
    said = np.ones(len(boxes), bool) if reported_present is None else np.asarray(reported_present, bool)
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
        found=int((said[shown] & located).sum()),
        present=len(shown),
        reported_absent=int((~said[hidden]).sum()),
        absent=len(hidden),
    )


def pool(counts: Iterable[PresenceCounts]) -> PresenceCounts:
    """All labels of all tracks together, as OxUvA scores them."""
    return sum(counts, PresenceCounts(0, 0, 0, 0))


def max_gm(tpr: float, tnr: float) -> float:
    """``max over p of sqrt((1 - p) TPR ((1 - p) TNR + p))``, in closed form.

    With q = 1 - p the square is ``TPR q (1 - q (1 - TNR))``, a parabola whose top lies at q = 1 / (2 (1 - TNR)).
    """
    q = 1.0 if tnr >= 0.5 else 1.0 / (2.0 * (1.0 - tnr))
    return float(np.sqrt(tpr * q * (1.0 - q * (1.0 - tnr))))
