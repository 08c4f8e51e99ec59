"""Turns chosen frames into the tensors of one DiMP example."""
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ltr.data.augmentation import Augmentation
from ltr.data.crops import CropGeometry, Jitter, box_in_crop, crop_region, jittered_region, random_window
from ltr.data.examples import Examples
from ltr.data.look_alikes import with_look_alike
from ltr.data.sampler import ExampleSampler, FrameChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class DimpProcessing:
    """Crops and augments an example's frames; test frames get the larger jitter of a running tracker."""

    geometry: CropGeometry
    train_jitter: Jitter = field(default_factory=lambda: Jitter(centre=3.0, scale=0.25))
    test_jitter: Jitter = field(default_factory=lambda: Jitter(centre=4.5, scale=0.5))
    first_jitter: Jitter | None = None  # of the first train frame (the IoU-Net's reference); None: train_jitter
    augmentation: Augmentation = field(default_factory=Augmentation)
    backdrop: float = 0.0  # probability that another photograph fills the crop outside a still's border
    look_alike: float = 0.0  # probability that another object of the target's class is pasted into every frame

    def example(self, sampler: ExampleSampler, choice: FrameChoice, rng: np.random.Generator) -> dict[str, Tensor]:
        """`images` (frames, 3, side, side) uint8 and `boxes` (frames, 4), xywh in crop pixels; train frames first."""
        dataset = sampler.datasets[choice.dataset]
        frame_ids = choice.train_ids + choice.test_ids
        boxes = dataset.track(choice.video).boxes
        mode = (rng.random() < self.augmentation.flip, rng.random() < self.augmentation.grey)
        rival = dataset.another_of_its_kind(choice.video, rng) if rng.random() < self.look_alike else None
        scenery = dataset.another_photograph(rng) if rng.random() < self.backdrop else None
        crops, crop_boxes = [], []
        for number, (t, frame) in enumerate(zip(frame_ids, dataset.frames(choice.video, frame_ids), strict=True)):
            jitter = self.train_jitter if number < len(choice.train_ids) else self.test_jitter
            if number == 0 and self.first_jitter is not None:
                jitter = self.first_jitter
            box = boxes[t].astype(np.float64)
            centre, sides = jittered_region(box, self.geometry, jitter, rng)
            backdrop = None if scenery is None else random_window(scenery, rng)
            crop, factor = crop_region(frame, centre, sides, self.geometry.output_side, backdrop)
            box = box_in_crop(box, centre, factor, self.geometry.output_side)
            if rival is not None:
                crop = with_look_alike(crop, box, rival, rng)
            crop, box = self.augmentation.apply(crop, box, mode, rng)
            crops.append(crop)
            crop_boxes.append(box)
        return {
            "images": torch.from_numpy(np.stack(crops)).permute(0, 3, 1, 2).contiguous(),
            "boxes": torch.from_numpy(np.stack(crop_boxes)).float(),
        }


class DimpExamples(Examples):
    """`length` examples per epoch."""

    def __init__(self, sampler: ExampleSampler, processing: DimpProcessing, length: int, seed: int = 0) -> None:
        super().__init__(seed)
        self.sampler, self.processing, self.length = sampler, processing, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = self.rng(index)
        return self.processing.example(self.sampler, self.sampler.draw(rng), rng)
