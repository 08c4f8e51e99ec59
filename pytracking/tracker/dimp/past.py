"""Measures what the current filter remembers: its margin on samples that are more than a hundred frames old.

The sample memory cannot tell: apart from the first frame's samples, it rarely holds any older than 35 frames. So a few
more samples are kept, spread over all frames that were learnt from. They only serve this report; no learner sees them.
"""
from collections.abc import Callable

import torch
from torch import Tensor

from ltr.models.target_classifier.objective import centre_distance

NEAR = 1.0  # cells; the target's score is the maximum within this distance of its centre
FAR = 3.0  # cells; the background starts here: targets are about three cells wide
MIN_AGE = 100  # frames; only samples older than this count
CAPACITY = 16  # samples: 2 MiB for the bundled network, 10 MiB for DiMP-50


def margins(scores: Tensor, boxes: Tensor, kernel: int, feature_stride: int) -> Tensor:
    """Score at the target minus the highest score elsewhere (n,).

    Args:
        scores: (n, h, w).
        boxes: (n, 4) of the target in the patch, xywh in pixels.
        kernel: side of the filter.
        feature_stride: patch pixels per cell.
    """
    distance = centre_distance(boxes[None], tuple(scores.shape[-2:]), kernel, feature_stride)[0]
    at_target = scores.masked_fill(distance > NEAR, -torch.inf).amax((1, 2))
    return at_target - scores.masked_fill(distance < FAR, -torch.inf).amax((1, 2))


class PastSamples:
    """A few samples with their boxes, evenly spread over the frames offered.

    Keeps one sample per ``interval`` frames. When full, drops every second one and doubles the interval.

    Args:
        capacity: maximum number of samples.
        min_age: only samples older than this many frames count in the margin.
    """

    def __init__(self, capacity: int = CAPACITY, min_age: int = MIN_AGE) -> None:
        self.capacity, self.min_age = capacity, min_age
        self.start()

    def start(self) -> None:
        """Clears all samples."""
        self.interval = 1
        self._kept: list[tuple[int, Tensor, Tensor]] = []  # frame number, features (1, C, h, w), box (4,)

    def offer(self, frame_number: int, features: Tensor, box: Tensor) -> None:
        """Keeps a frame's features (1, C, h, w) and box (4,) if one is due."""
        if self._is_due(frame_number) and len(self._kept) == self.capacity:
            self._kept = self._kept[::2]
            self.interval *= 2
        if self._is_due(frame_number):
            self._kept.append((frame_number, features.clone(), box.clone()))

    def _is_due(self, frame_number: int) -> bool:
        return not self._kept or frame_number >= self._kept[-1][0] + self.interval

    def frames(self, now: int) -> list[int]:
        """Numbers of the kept frames that are old enough at frame ``now``."""
        return [number for number, _, _ in self._kept if number < now - self.min_age]

    def margin(self, now: int, score: Callable[[Tensor], Tensor], kernel: int, feature_stride: int) -> float | None:
        """Returns the mean margin on old samples at frame ``now``; None if there are none yet.

        Args:
            now: number of the current frame.
            score: computes the filter's scores (n, h, w) of features (n, C, h, w).
            kernel: side of the filter.
            feature_stride: patch pixels per cell.
        """
        count = len(self.frames(now))
        if not count:
            return None
        _, features, boxes = zip(*self._kept[:count], strict=True)
        return float(margins(score(torch.cat(features)), torch.stack(boxes), kernel, feature_stride).mean())
