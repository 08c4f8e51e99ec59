"""Beyond the paper: least squares over every position of every sample, solved instead of descended.

Around the filter w0 of the moment, with scores s0, a sample's loss is nearly ``g (s - s0) + (s - s0) H (s - s0) / 2``
with its gradient g and curvature H in the scores. H is Gauss-Newton's for sums of squares and Newton's for PrDiMP's
divergence. As H = A A^T and s = X w, this is a linear regression with the rows ``A^T X``. All that the sample says of w
is ``X^T H X`` and ``X^T (H s0 - g)``: normal equations, which add up over samples. Each sample is added once and may
then leave the sample memory; its contribution stays.

For squares ``v^2 (act(s) - y)^2`` these are ``sum d^2 x x^T`` and ``sum d^2 t x`` over the positions, with
``d = v act'(s0)`` and ``t = s0 - (act(s0) - y) / act'(s0)``; positions where act' is 0 say nothing.

The first frame's samples, the only ones whose boxes are known to be right, have equations of their own, so that their
part of the whole cannot fade. With means M_0, M and Z_0, Z of the two sets and a the first one's part, an update takes
a few steps of conjugate gradients from the current filter towards

    w (a M_0 + (1 - a) M + lambda I) = a Z_0 + (1 - a) Z.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective
from pytracking.tracker.dimp.learner import OnlineLearner
from rls_ext import NonFiniteInputError, NormalEquations, conjugate_gradients


class ExactLearner(OnlineLearner):
    """Recursive least squares in information form, on windows instead of virtual inputs, for any loss.

    Args:
        beta: forgetting factor for each later sample; 1 counts all of them alike.
        first_part: least part of the first frame's samples in the whole, 0 to 1. More than that while they are in the
            majority.
        iterations: conjugate gradient steps of an update.
        most_samples: most new samples that an update takes in; where there are more, the newest.
        ridge: least weight of |w|^2; the network's own where that is larger.
        form: of the normal equations, see :class:`rls_ext.NormalEquations`. "auto" sketches on a CPU where whole ones
            would take more than the budget.
        memory_budget: bytes of both sets together when they are sketched.
    """

    def __init__(
        self,
        *,
        beta: float,
        first_part: float,
        iterations: int,
        most_samples: int,
        ridge: float = 0.0,
        form: str = "dense",
        memory_budget: int = 2**62,
    ) -> None:
        if not 0 <= first_part <= 1:
            raise UserError(f"first_part must be in [0, 1], got {first_part}")
        if iterations < 1:
            raise UserError(f"exact_iterations must be at least 1, got {iterations}")
        if most_samples < 1:
            raise UserError(f"exact_samples must be at least 1, got {most_samples}")
        self.beta = beta
        self.first_part = first_part
        self.iterations = iterations
        self.most_samples = most_samples
        self.ridge = ridge
        self.form = form
        self.memory_budget = memory_budget

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        options: dict[str, Any] = {"delta": 0.0, "dtype": filters.dtype, "device": filters.device}
        if self._sketches(filters):
            options |= {"form": "sketched", "memory_budget": self.memory_budget // 2}
        self.first = NormalEquations(filters[0].numel(), **options)
        self.later = NormalEquations(filters[0].numel(), beta=self.beta, **options)
        self._new: dict[int, None] = {}  # indices in the order in which they came
        self._met_first = False

    def _sketches(self, filters: Tensor) -> bool:
        if self.form != "auto":
            return self.form == "sketched"
        whole = filters[0].numel() ** 2 * filters.dtype.itemsize  # of two symmetric matrices
        return filters.device.type == "cpu" and whole > self.memory_budget

    def notice(self, index: int) -> None:
        self._new.pop(index, None)
        self._new[index] = None

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        """Filters after one update stage; its ``iterations`` are the learner's own, whatever ``num_iter``."""
        scores = problem.scores(filters)
        self.losses = [problem.loss(filters, scores)]
        if not self._met_first:
            self._met_first = True
            for index in sorted(set(range(scores.shape[1])) - set(self._new)):
                _take_in(self.first, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
        for index in list(self._new)[-self.most_samples :]:
            _take_in(self.later, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
        self._new.clear()
        return self._solve(filters, problem.regularisation.clamp(min=self.ridge))

    def _solve(self, filters: Tensor, ridge: Tensor) -> Tensor:
        shares = self._shares()
        if not shares:
            return filters

        def product(rows: Tensor) -> Tensor:
            return sum((share * each.product(rows) for share, each in shares), ridge * rows)

        target = sum(share * each.targets for share, each in shares)
        return conjugate_gradients(product, target, filters.flatten(1), self.iterations).view_as(filters)

    def _shares(self) -> list[tuple[float, NormalEquations]]:
        """The two sets that are not empty, with the factors of their sums in the whole."""
        count = self.first.weight + self.later.weight
        part = max(self.first_part, self.first.weight / count) if self.later.weight else 1.0
        shares = [(part, self.first), (1 - part, self.later)]
        return [(share / each.weight, each) for share, each in shares if share > 0 and each.weight]

    def report(self) -> dict[str, Any]:
        """``error_bound``: the most by which a sketch moves an eigenvalue of the whole, in the units of ``ridge``."""
        bound = sum(share * each.error_bound for share, each in self._shares())
        return super().report() | {"nbytes": self.first.nbytes + self.later.nbytes, "error_bound": float(bound)}


def _take_in(equations: NormalEquations, sample: FilterObjective, scores: Tensor, kernel: int) -> None:
    """Adds one sample with its scores (1, 1, h, w); one that is not finite is ignored."""
    try:
        equations.update_with_moment(*quadratic_model(sample, scores, kernel))
    except NonFiniteInputError:  # the loss is not finite either, so the tracker refuses this update
        pass


def quadratic_model(sample: FilterObjective, scores: Tensor, kernel: int) -> tuple[Tensor, Tensor]:
    """Rows ``A^T X`` (b, p) and the moment ``X^T (H s - g)`` (1, p) of one sample with scores s (1, 1, h, w).

    The sample's weight in the memory is taken out of both.
    """
    weight = sample.sample_weights
    rows = sample.curvature_rows(scores, kernel).div_(weight.sqrt())
    pull = sample.score_curvature(scores, scores) - sample.score_gradient(scores)
    return rows, sample.pull(pull, kernel).flatten(1) / weight
