"""Scale from the classifier: which magnification of the target answers the filter best.

A strong IoU-Net makes this unnecessary. A small network's IoU-Net prefers whole objects, also where the first box
marks a part of one; the filter has learnt what was marked. Small patches around the target suffice, so the cost is
below that of one more search patch.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor


def scale_factor(
    score: Callable[[Tensor], Tensor],
    cut_patch: Callable[[float], Tensor],
    step: float,
    weight: float,
) -> float:
    """The factor by which the target seems to have grown.

    Args:
        score: gives the scores (n, h, w) of patches (n, 3, H, W) with the target's filter.
        cut_patch: gives the patch (1, 3, h, w) around the target, seen at a factor of its present scale.
        step: ratio of neighbouring scales that are compared, e.g. 1.05.
        weight: part of the change that is believed.
    """
    patches = torch.cat([cut_patch(factor) for factor in (1 / step, 1.0, step)])
    exponent = best_exponent(score(patches).flatten(1).amax(1).tolist())
    return float(step ** (weight * exponent))


def best_exponent(peaks: Sequence[float]) -> float:
    """Where the parabola through three values at -1, 0, 1 is highest, within these ends; 0 where none is positive."""
    smaller, same, larger = peaks
    if not all(map(math.isfinite, peaks)) or max(peaks) <= 0:
        return 0.0
    bend = smaller - 2 * same + larger
    if bend >= 0:  # no top between the ends
        return float(np.argmax(peaks) - 1)
    return float(np.clip(0.5 * (smaller - larger) / bend, -1, 1))
