"""Rejects updates that would destroy the filter: descent diverges if the step length is too large for the network.

A fixed step length is stable only below 2 / (largest curvature of the loss), which depends on network and target.
Above it, the filter grows with every recursion until it overflows, and the tracker never finds its target again. So the
result of each update stage is checked before it is used.
"""
import math

import torch
from torch import Tensor

from ltr.models.target_classifier import FilterObjective
from pytracking.tracker.base import RejectedUpdates
from pytracking.tracker.dimp.params import DimpParams

LOSS_LIMIT = 10.0  # relative to the loss of a zero filter; healthy filters are below 1
PROBED_SAMPLES = 2  # to compute the loss on: a filter that has exploded shows on any sample


class UpdateGuard(RejectedUpdates):
    """Decides after each update whether to keep the new filter."""

    def choose(self, problem: FilterObjective, before: Tensor, after: Tensor) -> Tensor:
        """Returns ``after``, or ``before`` if :func:`find_fault` objects to ``after``."""
        fault = find_fault(problem, after)
        if fault is None:
            return after
        self.add(f"an online update was rejected and the previous filter kept: {fault}")
        return before


def find_fault(problem: FilterObjective, filters: Tensor) -> str | None:
    """Says how filters (1, C, k, k) fail on the problem's heaviest samples; None if they do not.

    They fail if they are not finite or far worse than a zero filter.
    """
    heaviest = problem.sample_weights.topk(min(PROBED_SAMPLES, problem.sample_weights.numel()))
    probe = problem.samples(heaviest.indices)
    scores = probe.scores(filters)
    energy = filters.square().sum((1, 2, 3))  # the loss misses overflows where the probed features are zero
    losses_and_energy = (probe.data_loss(scores), probe.data_loss(torch.zeros_like(scores)), energy)  # each (1,)
    loss, zero_loss, energy = torch.cat(losses_and_energy).tolist()
    if not (math.isfinite(loss) and math.isfinite(energy)):
        return "it would make the filter infinite or not a number"
    if zero_loss > 0 and loss > LOSS_LIMIT * zero_loss:
        return f"its loss would be {loss / zero_loss:.3g} times that of a zero filter"
    return None


def remedy_for(params: DimpParams) -> str:
    """Advice for the warning about rejected updates."""
    if params.learner not in ("gradient_descent", "rls"):
        return "This learner chooses its own step lengths, so check the features or the network's weights."
    return f"step_length={params.step_length:g} is too large for this network: try a third of it."
