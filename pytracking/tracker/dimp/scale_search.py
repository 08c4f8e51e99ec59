"""Scale from the classifier: compares the filter's response to the target at several scales.

A strong IoU-Net makes this unnecessary. The IoU-Net of a small network prefers whole objects even if the first box
marks only a part of one, whereas the filter has learnt what was marked. Small patches around the target suffice, so the
cost is below that of a second search patch.
"""
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.features.crop import sample_patch
from pytracking.tracker.dimp.geometry import TargetState
from pytracking.tracker.dimp.params import DimpParams


def scales(step: float) -> tuple[float, float, float]:
    """Factors of the current scale to compare; ``step`` is the ratio of neighbours, e.g. 1.05."""
    return 1 / step, 1.0, step


def patches_at_scales(
    image: np.ndarray, state: TargetState, params: DimpParams, network: DiMPNet, device: torch.device
) -> Tensor:
    """Cuts small patches (3, 3, h, w) around the target at :func:`scales` of ``params.scale_step``."""
    # An even number of cells, so that the target is placed relative to them as in a search patch.
    side = 2 * network.feature_stride * round(params.scale_patch_part * params.image_sample_size / 32)
    options = {"convention": params.crop_convention, "device": device, "fast": network.engine is not None}
    cut = [
        sample_patch(image, state.pos, state.scale * factor, np.full(2, side), **options)[0]
        for factor in scales(params.scale_step)
    ]
    return torch.cat(cut)


def scale_factor(scores: Tensor, step: float, weight: float) -> float:
    """Estimates the factor by which the target has grown from scores (3, h, w) at :func:`scales` of ``step``.

    ``weight`` is damping: the fraction of the estimated change that is applied.
    """
    return float(step ** (weight * best_exponent(scores.flatten(1).amax(1).tolist())))


def best_exponent(peaks: Sequence[float]) -> float:
    """Maximum, within -1..1, of the parabola through values at -1, 0, 1; 0 if none is positive or one is not finite."""
    smaller, same, larger = peaks
    if not all(map(math.isfinite, peaks)) or max(peaks) <= 0:
        return 0.0
    curvature = smaller - 2 * same + larger
    if curvature >= 0:  # no maximum between the ends
        return float(np.argmax(peaks) - 1)
    return float(np.clip(0.5 * (smaller - larger) / curvature, -1, 1))
