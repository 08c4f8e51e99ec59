"""Chooses the video and the frames of each training example."""
from dataclasses import dataclass

import numpy as np

from ltr.dataset.base import VideoDataset
from ltr.errors import UserError


@dataclass(frozen=True, slots=True)
class FrameChoice:
    """The frames of one example: the filter is learned on `train_ids` and evaluated on the later `test_ids`."""

    dataset: int
    video: int
    train_ids: list[int]
    test_ids: list[int]


class ExampleSampler:
    """Draws examples from several datasets in given proportions.

    Args:
        proportions: relative frequency of each dataset.
        max_gap: largest distance in frames between a train or test frame and the moment that separates them.
    """

    MAX_TRIES = 100

    def __init__(
        self,
        datasets: list[VideoDataset],
        proportions: list[float],
        max_gap: int = 30,
        train_frames: int = 3,
        test_frames: int = 3,
    ) -> None:
        if len(datasets) != len(proportions) or not datasets or min(proportions) <= 0:
            raise ValueError(f"{len(datasets)} datasets need as many positive proportions, got {proportions}")
        self.datasets = datasets
        self.proportions = np.asarray(proportions, float) / np.sum(proportions)
        self.max_gap, self.train_frames, self.test_frames = max_gap, train_frames, test_frames

    def draw(self, rng: np.random.Generator) -> FrameChoice:
        """Draws one example, using no randomness but `rng`."""
        dataset_id = int(rng.choice(len(self.datasets), p=self.proportions))
        dataset = self.datasets[dataset_id]
        for _ in range(self.MAX_TRIES):
            video = int(rng.integers(len(dataset)))
            visible = np.flatnonzero(dataset.track(video).visible)
            if not dataset.is_video and len(visible):
                frame = int(visible[0])
                return FrameChoice(dataset_id, video, [frame] * self.train_frames, [frame] * self.test_frames)
            choice = self._draw_around_moment(rng, visible)
            if choice is not None:
                return FrameChoice(dataset_id, video, *choice)
        raise UserError(f"{dataset!r} has too few visible targets: no example found in {self.MAX_TRIES} tries")

    def _draw_around_moment(self, rng: np.random.Generator, visible: np.ndarray) -> tuple[list[int], list[int]] | None:
        """Draws train frames up to a random moment and test frames after it; None if either side is empty."""
        if len(visible) < 2:
            return None
        moment = int(visible[rng.integers(len(visible) - 1)])
        before = visible[(visible <= moment) & (visible >= moment - self.max_gap)]
        after = visible[(visible > moment) & (visible <= moment + self.max_gap)]
        if not len(before) or not len(after):
            return None
        return sorted(rng.choice(before, self.train_frames).tolist()), rng.choice(after, self.test_frames).tolist()
