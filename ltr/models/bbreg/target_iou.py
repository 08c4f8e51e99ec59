"""IoU-Net specialised to one target: overlaps of boxes and their gradients, without autograd and only near the boxes.

Refinement evaluates ten boxes and their gradients five times per frame. Three measures make this fast without changing
the results:

* batch norms are folded into the weights once; the target's channel factors are applied to each frame's maps;
* the two 3x3 convolutions of each level run only on the cells that the boxes need, with the same values as on the whole
  map; if boxes leave this window, it is computed again around them;
* the gradient has a closed form: the pooled map is ``V F H^T``, and the derivatives of V and H are known.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ltr.models.bbreg.bin_weights import LEVELS, BinWeights, Window
from ltr.models.bbreg.box_head import Ascent, BoxHead, LocalCrop, TorchBoxHead
from ltr.models.bbreg.iou_net import IoUNet, Modulation

OUTWARD = np.array([-1, -1, 1, 1], np.float32)  # sign of each corner coordinate when a box grows
MARGIN = 1  # cells by which boxes may move on either level before the window is computed again


def _needed_window(extremes: tuple[float, float, float, float], scale: float, size: tuple[int, int]) -> Window:
    """Smallest window with all cells that boxes within ``extremes`` depend on; the whole map if these are infinite."""
    if not all(math.isfinite(value) for value in extremes):
        return Window(0, size[0], 0, size[1])
    x1, y1, x2, y2 = (value * scale for value in extremes)
    top, left = min(max(math.floor(y1), 0), size[0] - 1), min(max(math.floor(x1), 0), size[1] - 1)
    bottom, right = min(max(math.ceil(y2), top), size[0] - 1), min(max(math.ceil(x2), left), size[1] - 1)
    return Window(top, bottom + 1, left, right + 1)


def _corner_limits(window: Window, level: tuple[int, float], size: tuple[int, int]) -> list[float]:
    """Upper limits of the corners ``x1, y1, x2, y2`` in pixels, times `OUTWARD`, up to which the window suffices."""
    scale, (height, width) = level[1], size
    return [
        -window.left / scale if window.left else math.inf,
        -window.top / scale if window.top else math.inf,
        (window.right - 1) / scale if window.right < width else math.inf,
        (window.bottom - 1) / scale if window.bottom < height else math.inf,
    ]


def _crop(features: Tensor, window: Window) -> LocalCrop:
    """The features that a window of the output needs: each convolution sees one more cell on every side."""
    size = (features.shape[2], features.shape[3])
    between = window.grown(1, size)
    seen = between.grown(1, size)
    part = features[:, :, seen.top : seen.bottom, seen.left : seen.right]
    return LocalCrop(part, _margins(between, size), _margins(window, size))


def _margins(out: Window, size: tuple[int, int]) -> list[int]:
    return [int(end) for end in (out.left == 0, out.right == size[1], out.top == 0, out.bottom == size[0])]


class TargetIoU:
    """IoU-Net for one target; ``head`` is an engine's implementation, None uses torch."""

    def __init__(self, network: IoUNet, modulation: Modulation, head: BoxHead | None = None) -> None:
        self.head = head or TorchBoxHead(network)
        self.factors = [factors[0].detach() for factors in modulation]  # (C,) of each level

    def at(self, features: dict[str, Tensor]) -> LocalIoU:
        """The predictor for one frame, given its backbone features "layer2" and "layer3"."""
        return LocalIoU(self, (features["layer2"], features["layer3"]))


class LocalIoU:
    """Predicts overlaps of boxes with the target in one frame; made by :meth:`TargetIoU.at`."""

    def __init__(self, target: TargetIoU, features: tuple[Tensor, Tensor]) -> None:
        self._target = target
        self._features = features
        self._sizes = [(fmap.shape[2], fmap.shape[3]) for fmap in features]
        self.bin_weights: BinWeights | None = None
        self._limits = np.zeros(4)  # see :func:`_corner_limits`, for both levels
        self._maps: list[Any] = []  # each level's window, in the head's format

    @property
    def dtype(self) -> np.dtype:
        """Precision of the computation."""
        return self._target.head.dtype

    def iou_and_gradient(self, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Predicted overlaps (N,) of boxes xywh in pixels (N, 4), and each one's gradient in its own box (N, 4)."""
        values, gradient = self.values_and_gradient(boxes.detach().cpu().numpy())
        return torch.from_numpy(values).to(self._features[0]), torch.from_numpy(gradient).to(self._features[0])

    @torch.no_grad()
    def values_and_gradient(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`iou_and_gradient` for arrays, which is faster for few boxes."""
        corners = self._corners(boxes)
        self._compute_maps_for(corners)
        values, gradients = self._target.head.values(self._maps, self.bin_weights.set_boxes(corners))
        gradient = self.bin_weights.corner_gradient(gradients)
        gradient[:, :2] += gradient[:, 2:]  # x and y move both corners
        return values, gradient

    def climbs_in(self, space: str) -> bool:
        """Whether the engine supports :meth:`climb` in this space of coordinates."""
        climber = self._target.head.climber
        return climber is not None and space in climber.spaces

    @torch.no_grad()
    def climb(self, boxes: np.ndarray, place: np.ndarray, ascent: Ascent) -> tuple[np.ndarray, np.ndarray] | None:
        """Gradient ascent in one call; None if boxes leave the window around their initial positions.

        Args:
            boxes: xywh in pixels (N, 4).
            place: their coordinates (N, 4).
            ascent: its parameters.

        Returns:
            The boxes' coordinates (N, 4) after all steps, and their values (N,) before the last step.
        """
        self._compute_maps_for(self._corners(boxes))
        windows = self.bin_weights.windows
        place, values, extremes = self._target.head.climber(self._maps, windows, place, ascent)
        inside = (extremes[:4] <= self._limits).all() and (extremes[4:] < 0).all()
        return (place, values) if inside else None

    def _corners(self, boxes: np.ndarray) -> np.ndarray:
        corners = boxes.astype(self.dtype)
        corners[:, 2:] += corners[:, :2]
        return corners

    def _compute_maps_for(self, corners: np.ndarray) -> None:
        """Ensures that the maps contain all cells that boxes with these corners depend on."""
        if self.bin_weights is not None and (corners * OUTWARD <= self._limits).all():
            return
        extremes = (math.inf,) * 4
        if len(corners):
            extremes = (*corners[:, :2].min(0).tolist(), *corners[:, 2:].max(0).tolist())
        windows = [
            _needed_window(extremes, scale, size).grown(MARGIN, size)
            for (_, scale), size in zip(LEVELS, self._sizes, strict=True)
        ]
        self.bin_weights = BinWeights(tuple(windows), corners.dtype)
        limits = [_corner_limits(*level) for level in zip(windows, LEVELS, self._sizes, strict=True)]
        self._limits = np.min(limits, axis=0)
        crops = [_crop(fmap, window) for fmap, window in zip(self._features, windows, strict=True)]
        self._maps = self._target.head.maps(crops, self._target.factors)
