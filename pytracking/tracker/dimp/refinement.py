"""Box refinement: climbing what the box head predicts, the overlap with the target or the log-density of the box.

Boxes move in one of three spaces. ``default``, as published: x, y, w, h in pixels, each box's steps in units of its own
size. ``edges``: the four edges, likewise; all are treated alike, so a wrong size is corrected in fewer steps.
``relative``: centres in units of the first box's size, and logarithms of sizes; PrDiMP's densities are learnt in these.
"""
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
        start = torch.tensor(box, dtype=overlap.dtype, device=device)
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
            undo=params.box_refinement_undo,
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


class PixelSpace:
    """Boxes ``x, y, w, h`` (n, 4) as they are.

    Args:
        boxes: (n, 4), before they move.
    """

    def __init__(self, boxes: Tensor) -> None:
        self.unit = boxes[0, 2:]  # the first box's size

    def coordinates(self, boxes: Tensor) -> Tensor:
        return boxes

    def boxes(self, coordinates: Tensor) -> Tensor:
        return coordinates

    def uphill(self, boxes: Tensor, gradient: Tensor) -> Tensor:
        """The direction to move in: the gradient in units of each box's own size."""
        return gradient * boxes[:, 2:].repeat(1, 2)


class EdgeSpace(PixelSpace):
    """Edges left, top, right, bottom (n, 4)."""

    def coordinates(self, boxes: Tensor) -> Tensor:
        return torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], dim=1)

    def boxes(self, coordinates: Tensor) -> Tensor:
        return torch.cat([coordinates[:, :2], coordinates[:, 2:] - coordinates[:, :2]], dim=1)

    def uphill(self, boxes: Tensor, gradient: Tensor) -> Tensor:
        """Moving left or top alone also changes the size; moving right or bottom changes nothing else."""
        position, size = gradient[:, :2], gradient[:, 2:]
        return super().uphill(boxes, torch.cat([position - size, size], dim=1))


class RelativeSpace(PixelSpace):
    """Centres over the first box's size, and logarithms of sizes."""

    def coordinates(self, boxes: Tensor) -> Tensor:
        return torch.cat([(boxes[:, :2] + boxes[:, 2:] / 2) / self.unit, boxes[:, 2:].log()], dim=1)

    def boxes(self, coordinates: Tensor) -> Tensor:
        size = coordinates[:, 2:].exp()
        return torch.cat([coordinates[:, :2] * self.unit - size / 2, size], dim=1)

    def uphill(self, boxes: Tensor, gradient: Tensor) -> Tensor:
        """The gradient in these coordinates; a size that grows about a fixed centre also moves the corner."""
        position, size = gradient[:, :2], gradient[:, 2:]
        return torch.cat([position * self.unit, boxes[:, 2:] * (size - position / 2)], dim=1)


SPACES = {"default": PixelSpace, "edges": EdgeSpace, "relative": RelativeSpace}


def climb(
    boxes: Tensor,
    overlap: LocalIoU,
    iterations: int,
    step_length: float | tuple[float, float],
    decay: float,
    space: RefinementSpace = "default",
    *,
    undo: bool = False,
) -> tuple[Tensor, Tensor]:
    """Gradient ascent of every box on its own.

    Args:
        boxes: (n, 4).
        overlap: values and gradients of boxes.
        iterations: at least one.
        step_length: for all coordinates, or one for positions and one for sizes.
        decay: factor on the step length: after each iteration, or as ``undo`` says.
        space: see the module's text.
        undo: with a decay below 1, a box whose value did not rise takes its last move back and its steps get shorter;
            the others keep their step length.

    Returns:
        The boxes (n, 4), sizes at least 1, and the values (n,) predicted before the last move.
    """
    if iterations < 1:
        raise ValueError(f"box_refinement_iter must be at least 1, got {iterations}; or set use_iou_net to False")
    if space not in SPACES:
        raise ValueError(f"box_refinement_space must be one of {', '.join(SPACES)}, got {space!r}")
    space = SPACES[space](boxes)
    lengths = step_lengths(step_length, boxes)
    place, move, values = space.coordinates(boxes), torch.zeros_like(boxes), None
    undo = undo and decay < 1
    for _ in range(iterations):
        before = values
        values, gradient = overlap.iou_and_gradient(boxes)
        forward = lengths * space.uphill(boxes, gradient)
        if undo:
            rose = (torch.ones_like(values) if before is None else values > before).bool()[:, None]
            lengths = torch.where(rose, lengths, decay * lengths)
            move = torch.where(rose, forward, -move)
        else:
            move = forward
            lengths = decay * lengths
        place = place + move
        boxes = space.boxes(place)
    return torch.cat([boxes[:, :2], boxes[:, 2:].clamp(min=1)], dim=1), values


def step_lengths(step_length: float | tuple[float, float], boxes: Tensor) -> Tensor:
    """For every coordinate of every box (n, 4)."""
    if not isinstance(step_length, (tuple, list)):
        return torch.full_like(boxes, step_length)
    position, size = step_length
    # Single precision whatever the boxes have: so are the published trackers' pairs.
    return torch.tensor([position, position, size, size], device=boxes.device).expand_as(boxes)


def best_mean(boxes: np.ndarray, overlaps: np.ndarray, count: int, maximal_aspect_ratio: float) -> np.ndarray | None:
    """The mean of the ``count`` boxes with the highest overlap that are not too elongated; None without any."""
    ratio = boxes[:, 2] / boxes[:, 3]
    believable = (ratio < maximal_aspect_ratio) & (ratio > 1 / maximal_aspect_ratio) & np.isfinite(overlaps)
    boxes, overlaps = boxes[believable], overlaps[believable]
    if not len(boxes):
        return None
    best = np.argsort(-overlaps, kind="stable")[:count]
    return boxes[best].mean(axis=0, dtype=np.float64)
