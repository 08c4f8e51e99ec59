"""Refuses updates that would destroy the filter: a step length too large for a network makes descent diverge.

A fixed step length is stable only below two over the loss's largest curvature, which depends on the network and on the
target. Beyond it the filter grows from recursion to recursion until it is not a number, and a tracker with such a
filter finds nothing ever again. So what an update stage returns is looked at before it is used.
"""
from __future__ import annotations

import math

import torch
from torch import Tensor

from ltr.models.target_classifier import FilterObjective
from pytracking.tracker.base import RejectedUpdates
from pytracking.tracker.dimp.params import DimpParams

LOSS_LIMIT = 10.0  # times the loss of an empty filter; those of healthy filters are below one
PROBED_SAMPLES = 2  # the loss is looked at on these alone: every sample shows a filter that has exploded


class UpdateGuard(RejectedUpdates):
    """Keeps a sequence's last good filter."""

    def choose(self, problem: FilterObjective, before: Tensor, after: Tensor) -> Tensor:
        """``after``, or ``before`` where :func:`find_fault` finds ``after`` infinite or far worse than no filter."""
        fault = find_fault(problem, after)
        if fault is None:
            return after
        self.add(f"an online update was rejected and the filter from before it kept: {fault}")
        return before


def find_fault(problem: FilterObjective, filters: Tensor) -> str | None:
    """What is wrong with filters (1, C, k, k) on the problem's heaviest samples, or None."""
    heaviest = problem.sample_weights.topk(min(PROBED_SAMPLES, problem.sample_weights.numel()))
    probe = problem.samples(heaviest.indices)
    scores = probe.scores(filters)
    size = filters.square().sum((1, 2, 3))  # a filter can overflow where the probed features are zero
    found = (probe.data_loss(scores), probe.data_loss(torch.zeros_like(scores)), size)  # each (1,)
    loss, empty, size = torch.cat(found).tolist()
    if not (math.isfinite(loss) and math.isfinite(size)):
        return "it would make the filter infinite or not a number"
    if empty > 0 and loss > LOSS_LIMIT * empty:
        return f"its loss would be {loss / empty:.3g} times that of an empty filter"
    return None


def remedy_for(params: DimpParams) -> str:
    """What to do about updates that destroy the filter."""
    if params.learner not in ("gradient_descent", "rls"):
        return "This learner finds its own step lengths, so the features or the network's weights are at fault."
    return f"step_length={params.step_length:g} is too large for this network: try a third of it."
