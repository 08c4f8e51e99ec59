"""Scenes: parts of a frame that pass through the convolutions once for all boxes in them.

A scene is a box of the frame, resampled so that the target has ``object_size`` pixels on both sides. Boxes become
regions (RoIs) of the resampled scene. They are enlarged by the context padding and shortened by the receptive field,
because a feature cell already sees that far beyond its own position.
"""
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

JITTERED_SHIFTS = ((0.0, 0.0), (-4.0, 0.0), (0.0, -4.0))  # px of the first frame's shifted scenes, x and y
JITTERED_SCALES = (1.1**-1, 1.1, 1.1**-2, 1.1**2)  # magnifications of the first frame's other scenes
REPLICA_EXTENT = 0.6  # context of a replica beyond the padding, in target sizes
REPLICA_SHIFT, REPLICA_SHIFT_LIMIT = 2.0, 4.0  # px: standard deviation and limit of a replica's displacement
REPLICA_SCALE, REPLICA_SCALE_LIMIT = 1.1, 2.0  # magnification 1.1^n, n standard normal within this limit


@dataclass(frozen=True, slots=True)
class SceneGeometry:
    """Constants for converting boxes to scenes and RoIs."""

    object_size: int = 107  # px: the target's side in a resampled scene
    padding: float = 1.2  # an RoI's sides in units of its sample's sides
    receptive_field: float = 75.0  # px of the scene that one feature cell sees
    smallest_side: int = 91  # px: three feature cells of stride 8, the fewest that can be interpolated
    largest_side: int = 2000  # px: limits the cost of very elongated targets, whose scenes are resampled more coarsely

    @property
    def replica_side(self) -> int:
        """Side of a resampled replica of the first frame in px."""
        return int(self.object_size * (self.padding + REPLICA_EXTENT))


@dataclass(frozen=True, slots=True)
class Scenes:
    """Several scenes of one frame.

    Attributes:
        boxes: in the frame, (m, 4).
        crop_sizes: width and height after resampling, int (m, 2).
        magnification: scene pixels per frame pixel, x and y, (m, 2).
    """

    boxes: np.ndarray
    crop_sizes: np.ndarray
    magnification: np.ndarray

    def __len__(self) -> int:
        return len(self.boxes)

    def same_size_groups(self) -> list[np.ndarray]:
        """Indices of the scenes, grouped by crop size so that each group fits into one batch."""
        _, group = np.unique(self.crop_sizes, axis=0, return_inverse=True)
        return [np.flatnonzero(group.reshape(-1) == number) for number in range(group.max() + 1)]


def enclosing_box(samples: np.ndarray, padding: float) -> np.ndarray:
    """The smallest box (4,) that encloses all samples (n, 4), each enlarged by ``padding``."""
    margin = samples[:, 2:] * (padding - 1) / 2
    top_left = (samples[:, :2] - margin).min(axis=0)
    bottom_right = (samples[:, :2] + samples[:, 2:] + margin).max(axis=0)
    return np.concatenate([top_left, bottom_right - top_left])


def ensure_visible(box: np.ndarray, image_size: tuple[int, int]) -> np.ndarray:
    """Moves or extends a scene's ``box`` (4,) that lies outside the image until it covers at least one pixel."""
    extent = np.array(image_size[::-1], dtype=np.float64)
    top_left = np.where(box[:2] > extent, extent - 1, box[:2])
    size = np.where(top_left + box[2:] < 0, 1 - top_left, box[2:])
    return np.concatenate([top_left, size])


def scenes_of(
    boxes: np.ndarray, target_size: np.ndarray, geometry: SceneGeometry, jitter: np.ndarray | float = 1.0
) -> Scenes:
    """Scenes at ``boxes`` (m, 4), magnified so that a target of ``target_size`` (2,) has the object size.

    Args:
        jitter: additional magnification, one number or (m,).
    """
    boxes = np.atleast_2d(boxes)
    jitter = np.broadcast_to(jitter, len(boxes))[:, None]
    magnification = geometry.object_size / target_size
    wanted = np.floor(np.floor(boxes[:, 2:] * magnification) * jitter).astype(np.int64)
    crop_sizes = np.clip(wanted, geometry.smallest_side, geometry.largest_side)
    clamped = crop_sizes != wanted
    return Scenes(boxes, crop_sizes, np.where(clamped, crop_sizes / boxes[:, 2:], magnification * jitter))


def jittered_scenes(box: np.ndarray, target_size: np.ndarray, geometry: SceneGeometry) -> Scenes:
    """The first frame's seven scenes: unchanged, shifted left, shifted up, and at four other magnifications."""
    shifts = np.array(JITTERED_SHIFTS + ((0.0, 0.0),) * len(JITTERED_SCALES))
    jitter = np.array((1.0,) * len(JITTERED_SHIFTS) + JITTERED_SCALES)
    boxes = np.concatenate([box[:2] + shifts, np.broadcast_to(box[2:], (len(shifts), 2))], axis=1)
    return scenes_of(boxes, target_size, geometry, jitter)


def replica_scenes(noise: np.ndarray, target: np.ndarray, geometry: SceneGeometry) -> Scenes:
    """Close views of the ``target`` (4,), each shifted by a few pixels and slightly scaled.

    Args:
        noise: standard normal numbers (m, 3) for the shift in x, the shift in y, and the scale.
    """
    size = target[2:] * (geometry.padding + REPLICA_EXTENT)
    shift = np.clip(REPLICA_SHIFT * noise[:, :2], -REPLICA_SHIFT_LIMIT, REPLICA_SHIFT_LIMIT)
    scale = REPLICA_SCALE ** np.clip(noise[:, 2:], -REPLICA_SCALE_LIMIT, REPLICA_SCALE_LIMIT)
    top_left = target[:2] + target[2:] / 2 - size / 2 + shift  # the corner stays: scaling also displaces the target
    return Scenes(
        np.concatenate([top_left, size * scale], axis=1),
        np.full((len(noise), 2), geometry.replica_side),
        geometry.object_size / target[2:] / scale,
    )


def regions_in_scenes(samples: np.ndarray, owner: np.ndarray, scenes: Scenes, geometry: SceneGeometry) -> np.ndarray:
    """Regions (n, 5) = scene number, x1, y1, x2, y2 in scene pixels, of samples (n, 4) in the scenes ``owner`` (n,)."""
    margin = samples[:, 2:] * (geometry.padding - 1) / 2
    origin, magnification = scenes.boxes[owner, :2], scenes.magnification[owner]
    first = (samples[:, :2] - margin - origin) * magnification
    last = (samples[:, :2] + samples[:, 2:] + margin - origin) * magnification - geometry.receptive_field
    return np.concatenate([owner[:, None], first, np.maximum(last, first + 1)], axis=1)


def crop_scenes(image: Tensor, boxes: np.ndarray, crop_size: tuple[int, int]) -> Tensor:
    """Resamples the ``boxes`` (m, 4) of an image (3, h, w) bilinearly to one size (width, height).

    The first sample lies on a box's left (upper) edge, the last one pixel beyond its right (lower) edge. Pixels outside
    the image are 0.

    Returns:
        Crops (m, 3, height, width).
    """
    columns, column_weights = _interpolation(boxes[:, 0], boxes[:, 2], crop_size[0], image.shape[2], image)
    rows, row_weights = _interpolation(boxes[:, 1], boxes[:, 3], crop_size[1], image.shape[1], image)
    left, right = _columns_between(boxes, image.shape[2])
    image = image[:, :, left:right].transpose(0, 1).contiguous()  # (h, 3, w')
    crops = torch.zeros((), dtype=image.dtype, device=image.device)
    for row, weight in zip(rows, row_weights, strict=True):
        crops = crops + image[row] * weight[..., None, None]  # (m, height, 3, w')
    crops = crops.permute(0, 3, 1, 2).contiguous()  # (m, w', height, 3): columns first, for gathering
    scene = torch.arange(len(boxes), device=image.device)[:, None]
    first, second = (
        crops[scene, column - left] * weight[..., None, None]
        for column, weight in zip(columns, column_weights, strict=True)
    )
    return (first + second).permute(0, 3, 2, 1)  # (m, 3, height, width)


def _columns_between(boxes: np.ndarray, width: int) -> tuple[int, int]:
    """Range of image columns that the crops may read, computed from the boxes to avoid waiting for a device.

    It has a margin of one column, because sample points are computed in lower precision.
    """
    left = int(np.clip(np.floor(boxes[:, 0].min()) - 1, 0, max(width - 2, 0)))
    right = int(np.clip(np.ceil((boxes[:, 0] + boxes[:, 2]).max()) + 4, left + 2, max(width, left + 2)))
    return left, right


def _interpolation(
    start: np.ndarray, extent: np.ndarray, count: int, length: int, like: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The two neighbours (m, count) of each sample point along one axis, and their weights, 0 outside the image."""
    kind = {"dtype": like.dtype, "device": like.device}
    first, last = (torch.as_tensor(value, **kind)[:, None] for value in (start, start + extent))
    points = torch.arange(count, **kind) * ((last - first + 1) / max(count - 1, 1)) + first
    inside = (points >= 0) & (points < length)
    cell = points.floor().clamp(0, max(length - 2, 0))
    fraction = (points - cell) * inside  # exceeds 1 beyond the last pixel's centre, i.e. extrapolates
    lower = cell.long()
    return (lower, (lower + 1).clamp(max=length - 1)), (inside.to(like.dtype) - fraction, fraction)
