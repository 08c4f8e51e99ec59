"""Examples for multi-domain training: target and background boxes in the scenes of one video (one domain).

Scenes and regions follow RT-MDNet's tracker: a scene is resampled so that the target measures 107 x 107 pixels; a box's
region is the box enlarged by a fifth and shortened by the receptive field, which each feature cell sees anyway.
"""
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch import Tensor

from ltr.data.augmentation import Augmentation
from ltr.data.examples import Examples
from ltr.dataset.base import VideoDataset
from ltr.errors import UserError
from ltr.overlap import overlap

OBJECT_SIZE = 107  # pixels: side of the target in a scene
PADDING = 1.2  # a region has this many times the sides of its box
LARGEST_SCENE = 800  # pixels
SMALLEST_SCENE = 120  # pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCounts:
    """Numbers of frames and boxes per example."""

    frames: int = 8
    positive: int = 4  # per frame
    negative: int = 12  # per frame


def _scattered(box: np.ndarray, noise: np.ndarray, translation: float, scale: float, aspect: float) -> np.ndarray:
    """Boxes (n, 4) at centre + translation * noise[:, :2], sized by scale ** noise[:, 2] and aspect ** noise[:, 3]."""
    side = box[2:].mean()
    centre = box[:2] + box[2:] / 2 + translation * side * noise[:, :2]
    stretch = aspect ** noise[:, 3:4]
    size = box[2:] * scale ** noise[:, 2:3] * np.concatenate([stretch, 1 / stretch], axis=1)
    return np.concatenate([centre - size / 2, size], axis=1)


def draw_positive(box: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws boxes (count, 4) that overlap the target by at least 0.7."""
    noise = np.clip(0.5 * rng.standard_normal((20 * count, 4)), -1, 1)
    boxes = _scattered(box, noise, 0.1, 1.2, 1.0)
    good = boxes[overlap(boxes, box) >= 0.7][:count]
    return np.concatenate([good, np.repeat(box[None], count - len(good), axis=0)])


def draw_negative(box: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws boxes (count, 4) around the target that overlap it by at most 0.5."""
    found = np.empty((0, 4))
    while len(found) < count:
        boxes = _scattered(box, rng.uniform(-1, 1, (4 * count, 4)), 1.5, 1.6, 1.1)
        found = np.concatenate([found, boxes[overlap(boxes, box) <= 0.5]])
    return found[:count]


def cut_scene(
    image: np.ndarray,
    target: np.ndarray,
    boxes: np.ndarray,
    receptive_field: float,
    change: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[Tensor, Tensor]:
    """Cuts out the scene that contains all boxes.

    Args:
        target: box (4,) xywh that fixes the magnification.
        boxes: (n, 4) xywh to classify.
        receptive_field: scene pixels that one feature cell sees.
        change: applied to the scene (H, W, 3) uint8, for instance a colour augmentation.

    Returns:
        The scene (3, H, W), 0..255 minus 128, black outside the frame; the boxes' regions (n, 4) as x1, y1, x2, y2.
    """
    margin = boxes[:, 2:] * (PADDING - 1) / 2
    first, last = boxes[:, :2] - margin, boxes[:, :2] + boxes[:, 2:] + margin
    origin = first.min(axis=0)
    magnification = OBJECT_SIZE / target[2:]
    wanted = (last.max(axis=0) - origin) * magnification
    size = np.clip(wanted, SMALLEST_SCENE, LARGEST_SCENE).astype(int)
    magnification = np.where(wanted > LARGEST_SCENE, LARGEST_SCENE / (wanted / magnification), magnification)
    matrix = np.hstack([np.diag(magnification), (-origin * magnification)[:, None]])
    scene = cv2.warpAffine(image, matrix, tuple(int(v) for v in size), flags=cv2.INTER_LINEAR, borderValue=(0, 0, 0))
    scene = scene if change is None else change(scene)
    corner = (first - origin) * magnification
    far = np.maximum((last - origin) * magnification - receptive_field, corner + 1)
    tensor = torch.from_numpy(scene).permute(2, 0, 1).float() - 128
    return tensor, torch.from_numpy(np.concatenate([corner, far], axis=1)).float()


class MdnetExamples(Examples):
    """Examples of a few frames of one video: `domain`, `scenes` and `regions` (positive boxes first in each frame).

    Example `i` shows domain ``i % domains``.
    """

    def __init__(
        self,
        videos: list[tuple[VideoDataset, int]],
        receptive_field: float,
        counts: BoxCounts,
        cycles: int,
        seed: int = 0,
        augmentation: Augmentation | None = None,
    ) -> None:
        super().__init__(seed)
        self.videos, self.receptive_field, self.counts, self.cycles = videos, receptive_field, counts, cycles
        self.augmentation = augmentation

    def __len__(self) -> int:
        return len(self.videos) * self.cycles

    def __getitem__(self, index: int) -> dict:
        rng = self.rng(index)
        domain = index % len(self.videos)
        dataset, video = self.videos[domain]
        track = dataset.track(video)
        frame_ids = rng.choice(np.flatnonzero(track.visible), self.counts.frames).tolist()
        scenes, regions = [], []
        for t, image in zip(frame_ids, dataset.frames(video, frame_ids), strict=True):
            target = track.boxes[t].astype(np.float64)
            boxes = np.concatenate(
                [draw_positive(target, self.counts.positive, rng), draw_negative(target, self.counts.negative, rng)]
            )
            scene, region = cut_scene(image, target, boxes, self.receptive_field, self._change(rng))
            scenes.append(scene)
            regions.append(region)
        return {"domain": domain, "scenes": scenes, "regions": regions, "positive": self.counts.positive}

    def _change(self, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray] | None:
        """Draws a change of colours and sharpness; mirroring or covering would invalidate the boxes."""
        if self.augmentation is None:
            return None
        grey = bool(rng.random() < self.augmentation.grey)
        return lambda scene: self.augmentation.apply(scene, np.zeros(4), (False, grey), rng)[0]


def visible_videos(dataset: VideoDataset) -> list[tuple[VideoDataset, int]]:
    """The dataset with the index of each video whose target is ever visible, as `MdnetExamples` takes them."""
    return [(dataset, number) for number in range(len(dataset)) if dataset.track(number).visible.any()]


def first_of_batch(batch: list[dict]) -> dict:
    """Collates a batch of one example; scenes differ in size, so they cannot be stacked."""
    if len(batch) != 1:
        raise UserError(f"multi-domain training takes one domain at a time, not {len(batch)}: set batch_size=1")
    return batch[0]
