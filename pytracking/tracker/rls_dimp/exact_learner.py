"""Beyond the paper: least squares over every position of every sample, solved instead of descended.

The loss of a sample is ``sum_k v_k^2 (act(s_k) - y_k)^2`` over its positions, with s_k = w x_k. Linearised at the
filter of the moment this is Gauss-Newton's ``sum_k d_k^2 (w x_k - t_k)^2`` with ``d = v act'(s)`` and
``t = s - (act(s) - y) / act'(s)``: a linear regression, whose normal equations add up over samples. A sample is taken
in once and may then leave the sample memory; what it said stays.

The first frame's samples, the only ones whose boxes are known to be right, have equations of their own, so that their
part of the whole cannot fade. With means M_0, M and Z_0, Z of the two sets and a the first one's part, an update takes
a few steps of conjugate gradients from the current filter towards

    w (a M_0 + (1 - a) M + lambda I) = a Z_0 + (1 - a) Z.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ltr.models.target_classifier import FilterObjective, SquaredObjective
from pytracking.tracker.dimp.learner import OnlineLearner
from rls_ext import NonFiniteInputError, NormalEquations, conjugate_gradients


class ExactLearner(OnlineLearner):
    """Recursive least squares in information form, on windows instead of virtual inputs.

    Args:
        beta: forgetting factor for each later sample; 1 counts all of them alike.
        first_part: least part of the first frame's samples in the whole, 0 to 1. More than that while they are in the
            majority.
        iterations: conjugate gradient steps of an update.
        most_samples: most new samples that an update takes in; where there are more, the newest.
    """

    def __init__(self, *, beta: float, first_part: float, iterations: int, most_samples: int) -> None:
        if not 0 <= first_part <= 1:
            raise ValueError(f"first_part must be in [0, 1], got {first_part}")
        if iterations < 1:
            raise ValueError(f"exact_iterations must be at least 1, got {iterations}")
        if most_samples < 1:
            raise ValueError(f"exact_samples must be at least 1, got {most_samples}")
        self.beta = beta
        self.first_part = first_part
        self.iterations = iterations
        self.most_samples = most_samples

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        place = {"dtype": filters.dtype, "device": filters.device}
        self.first = NormalEquations(filters[0].numel(), delta=0.0, **place)
        self.later = NormalEquations(filters[0].numel(), delta=0.0, beta=self.beta, **place)
        self._new: dict[int, None] = {}  # indices in the order in which they came
        self._met_first = False

    def notice(self, index: int) -> None:
        self._new.pop(index, None)
        self._new[index] = None

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        """Filters after one update stage; its ``iterations`` are the learner's own, whatever ``num_iter``."""
        if not isinstance(problem, SquaredObjective):
            raise ValueError("learner='exact' adds up squares; use 'rls' for another loss")
        scores = problem.scores(filters)
        self.losses = [problem.loss(filters, scores)]
        if not self._met_first:
            self._met_first = True
            for index in sorted(set(range(scores.shape[1])) - set(self._new)):
                _take_in(self.first, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
        for index in list(self._new)[-self.most_samples :]:
            _take_in(self.later, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
        self._new.clear()
        return self._solve(filters, problem.regularisation)

    def _solve(self, filters: Tensor, ridge: Tensor) -> Tensor:
        count = self.first.weight + self.later.weight
        if not count:
            return filters
        part = max(self.first_part, self.first.weight / count) if self.later.weight else 1.0
        shares = [(part, self.first), (1 - part, self.later)]
        shares = [(share / each.weight, each) for share, each in shares if share > 0 and each.weight]

        def product(rows: Tensor) -> Tensor:
            return sum((share * each.product(rows) for share, each in shares), ridge * rows)

        target = sum(share * each.targets for share, each in shares)
        return conjugate_gradients(product, target, filters.flatten(1), self.iterations).view_as(filters)

    def report(self) -> dict[str, Any]:
        return super().report() | {"nbytes": self.first.nbytes + self.later.nbytes}


def _take_in(equations: NormalEquations, sample: SquaredObjective, scores: Tensor, kernel: int) -> None:
    """Adds one sample with its scores (1, 1, h, w); one that is not finite says nothing."""
    rows, answers = linearised_rows(sample, scores, kernel)
    try:
        equations.update(rows, answers)
    except NonFiniteInputError:  # the loss is not finite either, so the tracker refuses this update
        pass


def linearised_rows(sample: SquaredObjective, scores: Tensor, kernel: int) -> tuple[Tensor, Tensor]:
    """The rows ``d x`` (b, p) and what they should give, ``d t`` (b, 1), of one sample with scores (1, 1, h, w).

    The sample's weight in the memory is taken out of v. Positions with d = 0 are left out.
    """
    slope = sample.derivative(scores)
    weight = slope * sample.weight / sample.sample_weights  # d; sums of squares are weighed by roots
    excess = sample.activation(scores) - sample.label
    answers = weight * (scores - excess / torch.where(slope == 0, 1, slope))
    weight, answers = (sample.whole_maps(each, kernel).flatten() for each in (weight, answers))
    used = weight.nonzero().flatten()
    windows = F.unfold(sample.features[0], kernel, padding=kernel // 2)[0].T  # (h w, p)
    return windows[used] * weight[used, None], answers[used, None]
