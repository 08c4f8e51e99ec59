"""What the present filter still knows of the past: its margin on samples of more than a hundred frames ago.

The sample memory forgets: its later samples are some 35 frames old at most on a regular sequence. So a few features are
kept beside it, spread over everything that was learnt from. They are for reporting alone; no learner sees them.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ltr.models.target_classifier.objective import centre_distance

NEAR = 1.0  # the score at the target is the highest within this distance of its centre, cells
FAR = 3.0  # and elsewhere begins here: the target is about three cells wide
PAST = 100  # frames: a sample is of the past when it is older
MOST_SAMPLES = 16  # 2 MiB for the bundled network, 10 MiB for DiMP-50


def margins(scores: Tensor, boxes: Tensor, kernel: int, feature_stride: int) -> Tensor:
    """Score at the target minus the highest elsewhere (n,).

    Args:
        scores: (n, h, w).
        boxes: (n, 4) of the target in the patch, xywh in pixels.
        kernel: side of the filter.
        feature_stride: pixels for each cell.
    """
    distance = centre_distance(boxes[None], tuple(scores.shape[-2:]), kernel, feature_stride)[0]
    at_target = scores.masked_fill(distance > NEAR, -torch.inf).amax((1, 2))
    return at_target - scores.masked_fill(distance < FAR, -torch.inf).amax((1, 2))


class PastSamples:
    """A few samples with their boxes, evenly spread over the frames that were offered.

    One in every ``interval`` frames is kept. When there is no more room every second one goes and the interval doubles.

    Args:
        most: how many are kept.
        age: frames after which a sample is of the past.
    """

    def __init__(self, most: int = MOST_SAMPLES, age: int = PAST) -> None:
        self.most, self.age = most, age
        self.start()

    def start(self) -> None:
        """Forgets everything."""
        self.interval = 1
        self._kept: list[tuple[int, Tensor, Tensor]] = []  # frame number, features (1, C, h, w), box (4,)

    def offer(self, frame_number: int, features: Tensor, box: Tensor) -> None:
        """Keeps a frame's features (1, C, h, w) and box (4,) if it is its turn."""
        if self._is_its_turn(frame_number) and len(self._kept) == self.most:
            self._kept = self._kept[::2]
            self.interval *= 2
        if self._is_its_turn(frame_number):
            self._kept.append((frame_number, features.clone(), box.clone()))

    def _is_its_turn(self, frame_number: int) -> bool:
        return not self._kept or frame_number >= self._kept[-1][0] + self.interval

    def frames(self, now: int) -> list[int]:
        """Numbers of the kept frames that are of the past at frame ``now``."""
        return [number for number, _, _ in self._kept if number < now - self.age]

    def margin(self, now: int, score: Callable[[Tensor], Tensor], kernel: int, feature_stride: int) -> float | None:
        """The mean margin on the past at frame ``now``; None while there is no past.

        Args:
            now: number of the present frame.
            score: the filter's scores (n, h, w) of features (n, C, h, w).
            kernel: side of the filter.
            feature_stride: patch pixels for each cell.
        """
        count = len(self.frames(now))
        if not count:
            return None
        _, features, boxes = zip(*self._kept[:count], strict=True)
        return float(margins(score(torch.cat(features)), torch.stack(boxes), kernel, feature_stride).mean())
