"""Scale from the classifier: which magnification of the target answers the filter best.

A strong IoU-Net makes this unnecessary. A small network's IoU-Net prefers whole objects, also where the first box
marks a part of one; the filter has learnt what was marked. Small patches around the target suffice, so the cost is
below that of one more search patch.
"""
from __future__ import annotations

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
    """Factors of the present scale that are compared, for a ratio of neighbours such as 1.05."""
    return 1 / step, 1.0, step


def patches_at_scales(
    image: np.ndarray, state: TargetState, params: DimpParams, network: DiMPNet, device: torch.device
) -> Tensor:
    """Small patches (3, 3, h, w) around the target at :func:`scales` of ``params.scale_step``."""
    # Whole pairs of cells, so that the target sits in such a patch as it does in a search patch.
    side = 2 * network.feature_stride * round(params.scale_patch_part * params.image_sample_size / 32)
    options = {"convention": params.crop_convention, "device": device, "fast": network.engine is not None}
    cut = [
        sample_patch(image, state.pos, state.scale * factor, np.full(2, side), **options)[0]
        for factor in scales(params.scale_step)
    ]
    return torch.cat(cut)


def scale_factor(scores: Tensor, step: float, weight: float) -> float:
    """The factor by which the target seems to have grown, by scores (3, h, w) at :func:`scales` of ``step``.

    ``weight`` is damping, the fraction of the estimated change that is applied.
    """
    return float(step ** (weight * best_exponent(scores.flatten(1).amax(1).tolist())))


def best_exponent(peaks: Sequence[float]) -> float:
    """Where the parabola through three values at -1, 0, 1 is highest, within these ends; 0 where none is positive."""
    smaller, same, larger = peaks
    if not all(map(math.isfinite, peaks)) or max(peaks) <= 0:
        return 0.0
    bend = smaller - 2 * same + larger
    if bend >= 0:  # no top between the ends
        return float(np.argmax(peaks) - 1)
    return float(np.clip(0.5 * (smaller - larger) / bend, -1, 1))
