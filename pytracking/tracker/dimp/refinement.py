"""Box refinement: climbing the overlap that the IoU-Net predicts."""
from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ltr.models.bbreg import LocalIoU
from pytracking.tracker.dimp.params import DimpParams, RefinementSpace


class BoxRefiner:
    """Moves a box, and random ones around it, uphill; the best ones are averaged. Boxes are in patch pixels."""

    def __init__(self, params: DimpParams) -> None:
        self.params = params

    def __call__(
        self, box: np.ndarray, overlap: LocalIoU, generator: torch.Generator, device: torch.device
    ) -> np.ndarray | None:
        """Refines ``[x, y, w, h]``.

        Args:
            box: where the classifier found the target, with the target's last size.
            overlap: the target's IoU-Net on this patch.
            generator: of the random boxes.
            device: of the IoU-Net.

        Returns:
            The refined box, or None where every box became too elongated to be believed.
        """
        params = self.params
        start = torch.tensor(box, dtype=torch.float32, device=device)
        boxes = jittered_boxes(
            start, params.num_init_random_boxes, params.box_jitter_pos, params.box_jitter_sz, generator
        )
        boxes, overlaps = climb(
            boxes,
            overlap,
            params.box_refinement_iter,
            params.box_refinement_step_length,
            params.box_refinement_step_decay,
            params.box_refinement_space,
        )
        return best_mean(boxes.cpu().numpy(), overlaps.cpu().numpy(), params.iounet_k, params.maximal_aspect_ratio)


def jittered_boxes(
    box: Tensor, count: int, jitter_pos: float, jitter_size: float, generator: torch.Generator
) -> Tensor:
    """The box (4,) ``[x, y, w, h]`` and ``count`` random ones around it, (count + 1, 4)."""
    if not count:
        return box[None]
    spread = box[2:].prod().sqrt() * box.new_tensor([jitter_pos, jitter_pos, jitter_size, jitter_size])
    noise = (torch.rand(count, 4, generator=generator).to(box) - 0.5) * spread
    size = torch.maximum(box[2:] + noise[:, 2:], box[2:].min() / 3)
    center = box[:2] + box[2:] / 2 + noise[:, :2]
    return torch.cat([box[None], torch.cat([center - size / 2, size], dim=1)])


def climb(
    boxes: Tensor,
    overlap: LocalIoU,
    iterations: int,
    step_length: float,
    decay: float,
    space: RefinementSpace = "corner_and_size",
) -> tuple[Tensor, Tensor]:
    """Gradient ascent, in units of each box's own size.

    A step in x, y, w, h, as published, moves the right and lower edges by more than the others and the centre by more
    than the size. A step in the four edges treats them alike, so a wrong size is corrected in fewer steps.

    Returns:
        The boxes (n, 4), sizes at least 1, and the overlaps (n,) predicted before the last move.
    """
    if iterations < 1:
        raise ValueError(f"box_refinement_iter must be at least 1, got {iterations}; or set use_iou_net to False")
    for _ in range(iterations):
        overlaps, gradient = overlap.iou_and_gradient(boxes)
        if space == "edges":  # left and upper ones, with the others fixed; those of width and height are the others'
            first = gradient[:, :2] - gradient[:, 2:]
            gradient = torch.cat([first, gradient[:, 2:] - first], dim=1)
        boxes = boxes + step_length * gradient * boxes[:, 2:].repeat(1, 2)
        step_length *= decay
    return torch.cat([boxes[:, :2], boxes[:, 2:].clamp(min=1)], dim=1), overlaps


def best_mean(boxes: np.ndarray, overlaps: np.ndarray, count: int, maximal_aspect_ratio: float) -> np.ndarray | None:
    """The mean of the ``count`` boxes with the highest overlap that are not too elongated; None without any."""
    ratio = boxes[:, 2] / boxes[:, 3]
    believable = (ratio < maximal_aspect_ratio) & (ratio > 1 / maximal_aspect_ratio) & np.isfinite(overlaps)
    boxes, overlaps = boxes[believable], overlaps[believable]
    if not len(boxes):
        return None
    best = np.argsort(-overlaps, kind="stable")[:count]
    return boxes[best].mean(axis=0, dtype=np.float64)
