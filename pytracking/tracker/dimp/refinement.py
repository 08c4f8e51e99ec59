"""Box refinement: gradient ascent on the box head's prediction, the overlap with the target or a log-density of boxes.

Boxes move in one of three spaces. ``default``, as published: x, y, w, h in pixels; steps are in units of each box's
size. ``edges``: the four edges in pixels, with the same units; all are treated alike, so a wrong size is corrected in
fewer steps. ``relative``: centres in units of the first box's size and logarithms of sizes, in which PrDiMP's densities
are learnt.

It uses numpy, which takes a third of torch's time for a handful of boxes.
"""
import numpy as np
import torch

from ltr.errors import UserError
from ltr.models.bbreg import Ascent, LocalIoU
from pytracking.tracker.dimp.params import DimpParams, RefinementSpace


def refine_box(
    box: np.ndarray, overlap: LocalIoU, params: DimpParams, generator: torch.Generator
) -> np.ndarray | None:
    """Refines a box ``[x, y, w, h]`` in patch pixels and random boxes around it; returns the mean of the best ones.

    Returns None if every box became too elongated.
    """
    boxes = jittered_boxes(
        box.astype(overlap.dtype), params.num_init_random_boxes, params.box_jitter_pos, params.box_jitter_sz, generator
    )
    arguments = (
        boxes,
        overlap,
        params.box_refinement_iter,
        params.box_refinement_step_length,
        params.box_refinement_step_decay,
        params.box_refinement_space,
    )
    climbed = None if params.box_refinement_undo else climb_in_engine(*arguments)
    boxes, overlaps = climbed or climb(*arguments, undo=params.box_refinement_undo)
    return best_mean(boxes, overlaps, params.iounet_k, params.maximal_aspect_ratio)


def jittered_boxes(
    box: np.ndarray, count: int, jitter_pos: float, jitter_size: float, generator: torch.Generator
) -> np.ndarray:
    """Returns the box (4,) ``[x, y, w, h]`` and ``count`` random boxes around it, (count + 1, 4)."""
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
    """Coordinates ``x, y, w, h`` (n, 4) in pixels; constructed from the initial boxes."""

    def __init__(self, boxes: np.ndarray) -> None:
        self.unit = boxes[0, 2:]  # the first box's size

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return boxes

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Direction of ascent: the gradient in units of each box's size."""
        return _pairs(gradient[:, :2] * boxes[:, 2:], gradient[:, 2:] * boxes[:, 2:])


class EdgeSpace(PixelSpace):
    """Coordinates left, top, right, bottom (n, 4) in pixels."""

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return _pairs(boxes[:, :2], boxes[:, :2] + boxes[:, 2:])

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        return _pairs(coordinates[:, :2], coordinates[:, 2:] - coordinates[:, :2])

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Moving only the left or top edge changes position and size; moving the right or bottom edge only the size."""
        position, size = gradient[:, :2], gradient[:, 2:]
        return _pairs((position - size) * boxes[:, 2:], size * boxes[:, 2:])


class RelativeSpace(PixelSpace):
    """Centres divided by the first box's size, and logarithms of sizes."""

    def coordinates(self, boxes: np.ndarray) -> np.ndarray:
        return _pairs((boxes[:, :2] + boxes[:, 2:] / 2) / self.unit, np.log(boxes[:, 2:]))

    def boxes(self, coordinates: np.ndarray) -> np.ndarray:
        size = np.exp(coordinates[:, 2:])
        return _pairs(coordinates[:, :2] * self.unit - size / 2, size)

    def uphill(self, boxes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates; growing the size around a fixed centre also moves the corner."""
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
    """Gradient ascent of boxes (n, 4), each independently.

    Args:
        step_length: for all coordinates, or (positions, sizes).
        decay: factor on the step length after each iteration, unless ``undo`` is set.
        space: see the module's docstring.
        undo: with a decay below 1, a box whose value did not rise undoes its last move and its step length decays; the
            others keep theirs.

    Returns:
        The boxes (n, 4), with sizes of at least 1, and the values (n,) predicted before the last move.
    """
    if iterations < 1:
        raise UserError(f"box_refinement_iter must be at least 1, got {iterations}; or set use_iou_net to False")
    if space not in SPACES:
        raise UserError(f"box_refinement_space must be one of {', '.join(SPACES)}, got {space!r}")
    space = SPACES[space](boxes)
    lengths = step_lengths(step_length, boxes)
    coordinates, move, values = space.coordinates(boxes), np.zeros_like(boxes), None
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
        coordinates = coordinates + move
        boxes = space.boxes(coordinates)
    return _pairs(boxes[:, :2], np.maximum(boxes[:, 2:], 1)), values


def climb_in_engine(
    boxes: np.ndarray,
    overlap: LocalIoU,
    iterations: int,
    step_length: float | tuple[float, float],
    decay: float,
    space: RefinementSpace,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Runs :func:`climb` in one call of the engine, with equal results up to rounding; None if it cannot."""
    if not overlap.climbs_in(space) or iterations < 1:
        return None
    converter = SPACES[space](boxes)
    ascent = Ascent(space, iterations, step_lengths(step_length, boxes)[0], decay)
    climbed = overlap.climb(boxes, converter.coordinates(boxes), ascent)
    if climbed is None:
        return None
    boxes = converter.boxes(climbed[0])
    return _pairs(boxes[:, :2], np.maximum(boxes[:, 2:], 1)), climbed[1]


def step_lengths(step_length: float | tuple[float, float], boxes: np.ndarray) -> np.ndarray:
    """Step length of each coordinate of each box (n, 4)."""
    if not isinstance(step_length, (tuple, list)):
        return np.full_like(boxes, step_length)
    position, size = step_length
    # Single precision whatever the boxes' type, like the pairs of the published trackers.
    return np.broadcast_to(np.array([position, position, size, size], np.float32), boxes.shape)


def damped(
    box: np.ndarray, refined: np.ndarray, weight: float | tuple[float, float], trust: float = 1.0
) -> np.ndarray:
    """Applies a fraction of the change from one box ``[x, y, w, h]`` to another.

    Args:
        weight: the fraction, or one for the centre and one for the size.
        trust: multiplies both fractions.
    """
    weights = weight if isinstance(weight, (tuple, list)) else (weight, weight)
    centre_weight, size_weight = (trust * each for each in weights)
    if centre_weight == size_weight == 1:
        return refined
    change = refined - box
    size = box[2:] + size_weight * change[2:]
    centre = box[:2] + box[2:] / 2 + centre_weight * (change[:2] + change[2:] / 2)
    return np.concatenate([centre - size / 2, size])


def best_mean(boxes: np.ndarray, overlaps: np.ndarray, count: int, maximal_aspect_ratio: float) -> np.ndarray | None:
    """Mean of the ``count`` boxes with the highest overlap that are not too elongated; None if all are."""
    ratio = boxes[:, 2] / boxes[:, 3]
    plausible = (ratio < maximal_aspect_ratio) & (ratio > 1 / maximal_aspect_ratio) & np.isfinite(overlaps)
    boxes, overlaps = boxes[plausible], overlaps[plausible]
    if not len(boxes):
        return None
    best = np.argsort(-overlaps, kind="stable")[:count]
    return boxes[best].mean(axis=0, dtype=np.float64)
