"""Ridge regression from a sample's features to the target's box."""
import numpy as np
import torch
from torch import Tensor

from pytracking.tracker.rtmdnet.sampling import Range, within_ranges
from pytracking.utils.boxes import from_cxcywh, to_cxcywh
from rls_ext.products import product


class BoxRegressor:
    """Learns from the first frame, then corrects boxes in later frames if the correction is plausible.

    Regression targets are the displacement of the centre in units of the sample's sides, and the logarithms of the
    ratios of the sides. The intercept is not penalised. Implausible samples are not learnt from.

    Args:
        penalty: ridge coefficient.
        overlap_range: plausible overlaps of the sample with the target, or with the corrected box.
        area_range: plausible areas of the sample, in units of the other box's area.
    """

    def __init__(self, *, penalty: float, overlap_range: Range, area_range: Range) -> None:
        self.penalty = penalty
        self.overlap_range = overlap_range
        self.area_range = area_range
        self.coefficients: Tensor | None = None  # (d, 4); None if nothing has been learnt
        self.intercept: Tensor | None = None  # (4,)

    def fit(self, features: Tensor, samples: np.ndarray, target: np.ndarray) -> None:
        """Learns to map ``features`` (n, d) of ``samples`` (n, 4) to the ``target`` box (4,)."""
        usable = self._plausible(samples, target)
        if not usable.any():
            return
        offsets = torch.as_tensor(_offsets(samples[usable], target), dtype=features.dtype, device=features.device)
        features = features[torch.as_tensor(np.flatnonzero(usable), device=features.device)]
        feature_mean, offset_mean = features.mean(dim=0), offsets.mean(dim=0)
        self.coefficients = ridge_regression(features - feature_mean, offsets - offset_mean, self.penalty)
        self.intercept = offset_mean - feature_mean @ self.coefficients

    def refine(self, features: Tensor, samples: np.ndarray, image_size: tuple[int, int]) -> np.ndarray:
        """Returns corrected ``samples`` (n, 4), inside the image (height, width).

        Samples whose correction is implausible are not changed.
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
        return within_ranges(samples, boxes, self.overlap_range, self.area_range)


def _offsets(samples: np.ndarray, target: np.ndarray) -> np.ndarray:
    centre, size = np.split(to_cxcywh(samples), 2, axis=1)
    target_centre, target_size = np.split(to_cxcywh(target), 2)
    return np.concatenate([(target_centre - centre) / size, np.log(target_size / size)], axis=1)


def ridge_regression(features: Tensor, targets: Tensor, penalty: float) -> Tensor:
    """Minimises |X w - y|^2 + penalty |w|^2 by the smaller of the two Gram matrices, in float64 on the CPU."""
    count, dim = features.shape
    primal = dim <= count
    gram = (product(features.T, features) if primal else product(features, features.T)).cpu().double()
    gram.diagonal().add_(penalty)
    right = (features.T @ targets if primal else targets).cpu().double()
    solution = torch.cholesky_solve(right, torch.linalg.cholesky(gram)).to(features)
    return solution if primal else features.T @ solution
