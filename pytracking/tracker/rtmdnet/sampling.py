"""Random boxes around the target, for the search and for learning.

All boxes are drawn at once with array operations. Random numbers are drawn from the caller's generator in a fixed order
(aspect, position, size), so a seed determines the boxes.
"""
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from ltr.overlap import overlap
from pytracking.utils.boxes import from_cxcywh, to_cxcywh

SMALLEST_SIDE = 5.0  # px; the largest sides are also this much smaller than the image's
PROPOSAL_FACTORS = (2, 4, 8)  # proposals per missing sample in each round of rejection sampling

Range = tuple[float, float]


class RandomSource(Protocol):
    """The part of ``numpy.random.Generator`` used here, which the older ``RandomState`` also has."""

    def random(self, size: tuple[int, ...]) -> np.ndarray: ...

    def standard_normal(self, size: tuple[int, ...]) -> np.ndarray: ...

    def permutation(self, x: int) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleDistribution:
    """How boxes scatter around a given box.

    Attributes:
        kind: ``gaussian`` (standard deviation half the range, clipped to the range) or ``uniform`` around the box, or
            ``whole``: centres on a regular grid over the image.
        translation: range of the centre, in units of the box's mean side.
        scale: range of the size: a factor between 1/scale and scale, the same for both sides.
        aspect: range of the aspect: a factor between 1/aspect and aspect for the width, its inverse for the height.
        inside: keep the whole box in the image, instead of only its centre.
    """

    kind: Literal["gaussian", "uniform", "whole"]
    translation: float = 1.0
    scale: float = 1.0
    aspect: float | None = None
    inside: bool = False

    def propose(self, rng: RandomSource, boxes: np.ndarray, count: int, image_size: tuple[int, int]) -> np.ndarray:
        """Draws ``count`` boxes around each of ``boxes`` (m, 4).

        Args:
            image_size: (height, width) of the image.

        Returns:
            Boxes (m, count, 4) with sides between 5 px and the image's side minus 5 px.
        """
        extent = np.array(image_size[::-1], dtype=np.float64)  # width, height
        centre, size = np.split(to_cxcywh(boxes)[:, None], 2, axis=-1)  # (m, 1, 2) each
        shape = (len(boxes), count)
        if self.aspect is not None:
            exponent = 2 * rng.random((*shape, 1)) - 1
            size = size * self.aspect ** np.concatenate([exponent, -exponent], axis=-1)
        mean_side = boxes[:, None, 2:].mean(axis=-1, keepdims=True)
        if self.kind == "whole":
            centre = self._grid(rng, boxes, count, extent)
        else:
            centre = centre + self.translation * mean_side * self._unit_noise(rng, (*shape, 2))
        size = size * self.scale ** self._unit_noise(rng, (*shape, 1))
        size = np.clip(size, SMALLEST_SIDE, np.maximum(extent - SMALLEST_SIDE, SMALLEST_SIDE))
        centre = np.clip(centre, size / 2, extent - size / 2 - 1) if self.inside else np.clip(centre, 0, extent)
        return from_cxcywh(np.concatenate(np.broadcast_arrays(centre, size), axis=-1))

    def _unit_noise(self, rng: RandomSource, shape: tuple[int, ...]) -> np.ndarray:
        if self.kind == "gaussian":
            return np.clip(0.5 * rng.standard_normal(shape), -1, 1)
        return 2 * rng.random(shape) - 1

    @staticmethod
    def _grid(rng: RandomSource, boxes: np.ndarray, count: int, extent: np.ndarray) -> np.ndarray:
        side = int(2 * np.sqrt(count))  # about four times as many grid points as samples
        steps = np.linspace(0, 1, side)
        points = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
        chosen = np.stack([points[rng.permutation(len(points))[:count]] for _ in boxes])  # (m, count, 2)
        half = boxes[:, None, 2:] / 2
        return half + chosen * (extent - half - 1)


def draw_around(
    rng: RandomSource,
    distribution: SampleDistribution,
    box: np.ndarray,
    count: int,
    image_size: tuple[int, int],
    *,
    overlap_range: Range | None = None,
    area_range: Range | None = None,
) -> np.ndarray:
    """Up to ``count`` boxes (n, 4) around one ``box`` (4,); see :func:`draw_around_each`."""
    samples, _ = draw_around_each(
        rng, distribution, box[None], count, image_size, overlap_range=overlap_range, area_range=area_range
    )
    return samples


def draw_around_each(
    rng: RandomSource,
    distribution: SampleDistribution,
    boxes: np.ndarray,
    count: int,
    image_size: tuple[int, int],
    *,
    overlap_range: Range | None = None,
    area_range: Range | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draws ``count`` boxes around each of ``boxes`` (m, 4), by rejection sampling if a range is given.

    Args:
        overlap_range: accepted intersection over union with the given box.
        area_range: accepted area, in units of the given box's area.

    Returns:
        The samples (n, 4), sorted by box, and the index of each sample's box (n,). There are fewer than ``count`` per
        box if nearly all proposals were rejected, e.g. negatives of a target that fills the image.
    """
    boxes = np.asarray(boxes, dtype=np.float64)
    if overlap_range is None and area_range is None:
        samples = distribution.propose(rng, boxes, count, image_size)
        return samples.reshape(-1, 4), np.repeat(np.arange(len(boxes)), count)
    samples, owners = [np.empty((0, 4))], [np.empty(0, dtype=np.int64)]
    missing = np.full(len(boxes), count)
    for factor in PROPOSAL_FACTORS:
        short = np.flatnonzero(missing)
        if not short.size:
            break
        proposals = distribution.propose(rng, boxes[short], factor * int(missing[short].max()), image_size)
        accepted = within_ranges(proposals, boxes[short, None], overlap_range, area_range)
        accepted &= np.cumsum(accepted, axis=1) <= missing[short, None]
        samples.append(proposals[accepted])
        owners.append(short[np.nonzero(accepted)[0]])
        missing[short] -= accepted.sum(axis=1)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(samples)[order], owner[order]


def within_ranges(
    samples: np.ndarray, boxes: np.ndarray, overlap_range: Range | None, area_range: Range | None
) -> np.ndarray:
    """Whether each sample's overlap with its box, and its area in units of the box's, lie within the ranges."""
    accepted = np.ones(samples.shape[:-1], dtype=bool)
    if overlap_range is not None:
        iou = overlap(samples, boxes)
        accepted &= (iou >= overlap_range[0]) & (iou <= overlap_range[1])
    if area_range is not None:
        ratio = samples[..., 2:].prod(axis=-1) / boxes[..., 2:].prod(axis=-1)
        accepted &= (ratio >= area_range[0]) & (ratio <= area_range[1])
    return accepted
