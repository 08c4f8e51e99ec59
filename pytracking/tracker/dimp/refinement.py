"""Box refinement: climbing what the box head predicts, the overlap with the target or the log-density of the box.

Boxes move in one of three spaces. ``default``, as published: x, y, w, h in pixels, each box's steps in units of its own
size. ``edges``: the four edges, likewise; all are treated alike, so a wrong size is corrected in fewer steps.
``relative``: centres in units of the first box's size, and logarithms of sizes; PrDiMP's densities are learnt in these.

All this is numpy: a handful of boxes takes a third of torch's time.
"""
from __future__ import annotations

import numpy as np
import torch

from ltr.errors import UserError
from ltr.models.bbreg import Ascent, LocalIoU
from pytracking.tracker.dimp.params import DimpParams, RefinementSpace


def refine_box(
    box: np.ndarray, overlap: LocalIoU, params: DimpParams, generator: torch.Generator
) -> np.ndarray | None:
    """Moves a box ``[x, y, w, h]`` in patch pixels, and random ones around it, uphill; the best ones are averaged.

    None where every box became too elongated.
    """
    boxes = jittered_boxes(
        box.astype(overlap.dtype), params.num_init_random_boxes, params.box_jitter_pos, params.box_jitter_sz, generator
    )
    climbing = (
        boxes,
        overlap,
        params.box_refinement_iter,
        params.box_refinement_step_length,
        params.box_refinement_step_decay,
        params.box_refinement_space,
    )
    climbed = None if params.box_refinement_undo else climb_at_once(*climbing)
    boxes, overlaps = climbed or climb(*climbing, undo=params.box_refinement_undo)
    return best_mean(boxes, overlaps, params.iounet_k, params.maximal_aspect_ratio)


def jittered_boxes(
    box: np.ndarray, count: int, jitter_pos: float, jitter_size: float, generator: torch.Generator
) -> np.ndarray:
    """The box (4,) ``[x, y, w, h]`` and ``count`` random ones around it, (count + 1, 4)."""
    if not count:
        return box[None]
    spread = np.sqrt(box[2] * box[3]) * np.array([jitter_pos, jitter_pos, jitter_size, jitter_size], box.dtype)
    noise = (torch.rand(count, 4, generator=generator).numpy().astype(box.dtype) - 0.5) * spread
    size = np.maximum(box[2:] + noise[:, 2:], box[2:].min() / 3)
    boxes = np.empty((count + 1, 4), box.dtype)
    boxes[0] = box
    boxes[1:, :2] = box[:2] + box[2:] / 2 + noise[:, :2] - size / 2
    boxes[1:, 2:] = size
    return boxes


class PixelSpace:
    """Boxes ``x, y, w, h`` (n, 4) as they are; made from the boxes before they move."""

    def __init__(self, boxes: np.ndarray) -> None:
        self.unit = boxes[0, 2:]  # the first box's size

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return boxes

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The direction to move in: the gradient in units of each box's own size."""
        return _pairs(gradient[:, :2] * boxes[:, 2:], gradient[:, 2:] * boxes[:, 2:])


class EdgeSpace(PixelSpace):
    """Edges left, top, right, bottom (n, 4)."""

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return _pairs(boxes[:, :2], boxes[:, :2] + boxes[:, 2:])

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        return _pairs(coordinates[:, :2], coordinates[:, 2:] - coordinates[:, :2])

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Moving left or top alone also changes the size; moving right or bottom changes nothing else."""
        position, size = gradient[:, :2], gradient[:, 2:]
        return _pairs((position - size) * boxes[:, 2:], size * boxes[:, 2:])


class RelativeSpace(PixelSpace):
    """Centres over the first box's size, and logarithms of sizes."""

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return _pairs((boxes[:, :2] + boxes[:, 2:] / 2) / self.unit, np.log(boxes[:, 2:]))

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        size = np.exp(coordinates[:, 2:])
        return _pairs(coordinates[:, :2] * self.unit - size / 2, size)

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates; a size that grows about a fixed centre also moves the corner."""
        position, size = gradient[:, :2], gradient[:, 2:]
        return _pairs(position * self.unit, boxes[:, 2:] * (size - position / 2))


SPACES = {"default": PixelSpace, "edges": EdgeSpace, "relative": RelativeSpace}


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([first, second], axis=1)


def climb(
    boxes: np.ndarray,
    overlap: LocalIoU,
    iterations: int,
    step_length: float | tuple[float, float],
    decay: float,
    space: RefinementSpace = "default",
    *,
    undo: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ascent of every box (n, 4) on its own.

    Args:
        step_length: for all coordinates, or one for positions and one for sizes.
        decay: factor on the step length: after each iteration, or as ``undo`` says.
        space: see the module's text.
        undo: with a decay below 1, a box whose value did not rise takes its last move back and its steps get shorter;
            the others keep their step length.

    Returns:
        The boxes (n, 4), sizes at least 1, and the values (n,) predicted before the last move.
    """
    if iterations < 1:
        raise UserError(f"box_refinement_iter must be at least 1, got {iterations}; or set use_iou_net to False")
    if space not in SPACES:
        raise UserError(f"box_refinement_space must be one of {', '.join(SPACES)}, got {space!r}")
    space = SPACES[space](boxes)
    lengths = step_lengths(step_length, boxes)
    place, move, values = space.coordinates(boxes), np.zeros_like(boxes), None
    undo = undo and decay < 1
    for _ in range(iterations):
        before = values
        values, gradient = overlap.values_and_gradient(boxes)
        forward = lengths * space.uphill(boxes, gradient)
        if undo:
            rose = (np.ones(len(values), bool) if before is None else values > before)[:, None]
            lengths = np.where(rose, lengths, decay * lengths)
            move = np.where(rose, forward, -move)
        else:
            move = forward
            lengths = decay * lengths
        place = place + move
        boxes = space.boxes(place)
    return _pairs(boxes[:, :2], np.maximum(boxes[:, 2:], 1)), values


def climb_at_once(
    boxes: np.ndarray,
    overlap: LocalIoU,
    iterations: int,
    step_length: float | tuple[float, float],
    decay: float,
    space: RefinementSpace,
) -> tuple[np.ndarray, np.ndarray] | None:
    """:func:`climb` up to rounding, where the engine can do it in one call; else None."""
    if not overlap.climbs_in(space) or iterations < 1:
        return None
    coordinates = SPACES[space](boxes)
    place, lengths = coordinates.coordinates(boxes), step_lengths(step_length, boxes)[0]
    climbed = overlap.climb(boxes, place, Ascent(space, iterations, lengths, decay))
    if climbed is None:
        return None
    boxes = coordinates.boxes(climbed[0])
    return _pairs(boxes[:, :2], np.maximum(boxes[:, 2:], 1)), climbed[1]


def step_lengths(step_length: float | tuple[float, float], boxes: np.ndarray) -> np.ndarray:
    """For every coordinate of every box (n, 4)."""
    if not isinstance(step_length, (tuple, list)):
        return np.full_like(boxes, step_length)
    position, size = step_length
    # Single precision whatever the boxes have: so are the published trackers' pairs.
    return np.broadcast_to(np.array([position, position, size, size], np.float32), boxes.shape)


def damped(
    box: np.ndarray, refined: np.ndarray, weight: float | tuple[float, float], trust: float = 1.0
) -> np.ndarray:
    """A part of the change from one box ``[x, y, w, h]`` to another.

    Args:
        weight: the part, or one for the centre and one for the size.
        trust: multiplied to both.
    """
    of_centre, of_size = (trust * each for each in (weight if isinstance(weight, (tuple, list)) else (weight, weight)))
    if of_centre == of_size == 1:
        return refined
    change = refined - box
    size = box[2:] + of_size * change[2:]
    centre = box[:2] + box[2:] / 2 + of_centre * (change[:2] + change[2:] / 2)
    return np.concatenate([centre - size / 2, size])


def best_mean(boxes: np.ndarray, overlaps: np.ndarray, count: int, maximal_aspect_ratio: float) -> np.ndarray | None:
    """The mean of the ``count`` boxes with the highest overlap that are not too elongated; None without any."""
    ratio = boxes[:, 2] / boxes[:, 3]
    plausible = (ratio < maximal_aspect_ratio) & (ratio > 1 / maximal_aspect_ratio) & np.isfinite(overlaps)
    boxes, overlaps = boxes[plausible], overlaps[plausible]
    if not len(boxes):
        return None
    best = np.argsort(-overlaps, kind="stable")[:count]
    return boxes[best].mean(axis=0, dtype=np.float64)
