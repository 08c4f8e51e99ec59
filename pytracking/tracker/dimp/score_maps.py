"""Transforms raw scores before localisation."""
import torch
from torch import Tensor
from torch.nn import functional as F

from ltr.errors import UserError
from ltr.models.target_classifier import softmax_over_cells


def preprocess(scores: Tensor, kind: str, extra_logit: float | None = None) -> Tensor:
    """Returns the scores (h, w), their exponentials, or their softmax over all cells.

    Args:
        scores: of the classifier.
        kind: "none", "softmax" or "exp".
        extra_logit: see :func:`~ltr.models.target_classifier.softmax_over_cells`.
    """
    if kind == "none":
        return scores
    if kind == "softmax":
        return softmax_over_cells(scores, extra_logit)
    if kind == "exp":
        return scores.exp()
    raise UserError(f"score_preprocess must be 'none', 'softmax' or 'exp', got {kind!r}")


def sum_around(scores: Tensor, side: int) -> Tensor:
    """Replaces each score (h, w) by the sum of the ``side`` x ``side`` cells around it; zeros outside the map."""
    if side == 1:
        return scores
    if side < 1 or side % 2 == 0:
        raise UserError(f"score_filter_ksz must be odd and positive, got {side}")
    ones = torch.ones(1, 1, side, side, dtype=scores.dtype, device=scores.device)
    return F.conv2d(scores[None, None], ones, padding=side // 2)[0, 0]
