"""Ridge regression from a sample's features to the box it should have been."""
from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ltr.overlap import overlap
from pytracking.tracker.rtmdnet.sampling import Range
from pytracking.utils.boxes import from_cxcywh, to_cxcywh
from rls_ext.products import product


class BoxRegressor:
    """Learnt once, on the first frame; corrects boxes in later frames if the correction is plausible.

    The targets are the displacement of the centre in units of the sample's sides, and the logarithms of the ratios of
    the sides. The intercept is not penalised.

    Args:
        penalty: ridge coefficient.
        overlap_range: a sample is learnt from, and a correction applied, where the overlap of the two boxes is here.
        area_range: and where the first box's area, in units of the second box's, is here.
    """

    def __init__(self, *, penalty: float, overlap_range: Range, area_range: Range) -> None:
        self.penalty = penalty
        self.overlap_range = overlap_range
        self.area_range = area_range
        self.coefficients: Tensor | None = None  # (d, 4), None until there was something to learn from
        self.intercept: Tensor | None = None  # (4,)

    def fit(self, features: Tensor, samples: np.ndarray, target: np.ndarray) -> None:
        """Learns to turn ``samples`` (n, 4), seen as ``features`` (n, d), into the ``target`` box (4,)."""
        usable = self._plausible(samples, target)
        if not usable.any():
            return
        offsets = torch.as_tensor(_offsets(samples[usable], target), dtype=features.dtype, device=features.device)
        features = features[torch.as_tensor(np.flatnonzero(usable), device=features.device)]
        feature_mean, offset_mean = features.mean(dim=0), offsets.mean(dim=0)
        self.coefficients = ridge_regression(features - feature_mean, offsets - offset_mean, self.penalty)
        self.intercept = offset_mean - feature_mean @ self.coefficients

    def refine(self, features: Tensor, samples: np.ndarray, image_size: tuple[int, int]) -> np.ndarray:
        """Corrected boxes (n, 4) for ``samples`` (n, 4), inside the image (height, width); an implausible correction
        leaves the sample as it is.
        """
        refined = np.array(samples, dtype=np.float64)
        if self.coefficients is not None:
            offsets = (features @ self.coefficients + self.intercept).cpu().numpy().astype(np.float64)
            centre, size = np.split(to_cxcywh(samples), 2, axis=1)
            moved = np.concatenate([centre + offsets[:, :2] * size, size * np.exp(offsets[:, 2:])], axis=1)
            moved = from_cxcywh(moved)
            plausible = self._plausible(samples, moved)
            refined[plausible] = moved[plausible]
        refined[:, :2] = np.maximum(refined[:, :2], 0)
        refined[:, 2:] = np.minimum(refined[:, 2:], np.array(image_size[::-1]) - samples[:, :2])
        return refined

    def _plausible(self, samples: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        iou = overlap(samples, boxes)
        ratio = samples[..., 2:].prod(axis=-1) / boxes[..., 2:].prod(axis=-1)
        return (
            (iou >= self.overlap_range[0]) & (iou <= self.overlap_range[1])
            & (ratio >= self.area_range[0]) & (ratio <= self.area_range[1])
        )  # fmt: skip


def _offsets(samples: np.ndarray, target: np.ndarray) -> np.ndarray:
    centre, size = np.split(to_cxcywh(samples), 2, axis=1)
    target_centre, target_size = np.split(to_cxcywh(target), 2)
    return np.concatenate([(target_centre - centre) / size, np.log(target_size / size)], axis=1)


def ridge_regression(features: Tensor, targets: Tensor, penalty: float) -> Tensor:
    """Minimises |X w - y|^2 + penalty |w|^2 through the smaller of the two Gram matrices, in double on the CPU."""
    count, dim = features.shape
    primal = dim <= count
    gram = (product(features.T, features) if primal else product(features, features.T)).cpu().double()
    gram.diagonal().add_(penalty)
    right = (features.T @ targets if primal else targets).cpu().double()
    solution = torch.cholesky_solve(right, torch.linalg.cholesky(gram)).to(features)
    return solution if primal else features.T @ solution
