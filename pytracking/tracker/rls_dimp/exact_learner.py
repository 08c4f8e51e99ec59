"""Beyond the paper: least squares over every position of every sample, solved instead of descended.

Near the current filter w0 with scores s0, a sample's loss is about ``g (s - s0) + (s - s0) H (s - s0) / 2``, with its
gradient g and curvature H with respect to the scores. H is Gauss-Newton's for sums of squares and Newton's for PrDiMP's
divergence. As H = A A^T and s = X w, this is a linear regression with the rows ``A^T X``. The sample enters it through
the normal equations ``X^T H X`` and ``X^T (H s0 - g)``, which add up over samples. Each sample is added once; its
contribution remains when the sample memory drops it.

For squares ``v^2 (act(s) - y)^2`` these are ``sum d^2 x x^T`` and ``sum d^2 t x`` over the positions, with
``d = v act'(s0)`` and ``t = s0 - (act(s0) - y) / act'(s0)``; positions where act' is 0 contribute nothing.

The first frame's samples, the only ones with boxes known to be right, have separate equations, so that their share of
the total cannot fade. With means M_0, M and Z_0, Z of the two sets and the share a of the first, an update takes a few
conjugate gradient steps from the current filter towards the solution of

    w (a M_0 + (1 - a) M + lambda I) = a Z_0 + (1 - a) Z.
"""
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective
from pytracking.tracker.dimp.learner import OnlineLearner
from rls_ext import NonFiniteInputError, NormalEquations, conjugate_gradients


@dataclass(kw_only=True, eq=False)
class ExactLearner(OnlineLearner):
    """Recursive least squares in information form, on windows instead of virtual inputs, for any loss.

    Args:
        beta: forgetting factor per later sample; 1 weights all of them equally.
        first_part: minimum share of the first frame's samples, 0 to 1; their fraction of all samples if that is larger.
        iterations: conjugate gradient steps per update.
        most_samples: maximum number of new samples per update; the newest are used.
        ridge: minimum weight of |w|^2; the network's own is used if it is larger.
        form: of the normal equations, see :class:`rls_ext.NormalEquations`. "auto" sketches on a CPU if dense ones
            would exceed the budget.
        memory_budget: bytes for both sets together if they are sketched.
    """

    beta: float
    first_part: float
    iterations: int
    most_samples: int
    ridge: float = 0.0
    form: str = "dense"
    memory_budget: int = 2**62

    def __post_init__(self) -> None:
        if not 0 <= self.first_part <= 1:
            raise UserError(f"first_part must be in [0, 1], got {self.first_part}")
        if self.iterations < 1:
            raise UserError(f"exact_iterations must be at least 1, got {self.iterations}")
        if self.most_samples < 1:
            raise UserError(f"exact_samples must be at least 1, got {self.most_samples}")

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        options: dict[str, Any] = {"delta": 0.0, "dtype": filters.dtype, "device": filters.device}
        if self._sketches(filters):
            options |= {"form": "sketched", "memory_budget": self.memory_budget // 2}
        self.first = NormalEquations(filters[0].numel(), **options)
        self.later = NormalEquations(filters[0].numel(), beta=self.beta, **options)
        self._new: dict[int, None] = {}  # indices, oldest first
        self._first_frame_added = False

    def _sketches(self, filters: Tensor) -> bool:
        if self.form != "auto":
            return self.form == "sketched"
        dense_bytes = filters[0].numel() ** 2 * filters.dtype.itemsize  # of two symmetric matrices
        return filters.device.type == "cpu" and dense_bytes > self.memory_budget

    def notice(self, index: int) -> None:
        self._new.pop(index, None)
        self._new[index] = None

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        """Returns the filters after one update stage; it takes ``iterations`` steps, whatever ``num_iter``."""
        scores = problem.scores(filters)
        self.losses = [problem.loss(filters, scores)]
        if not self._first_frame_added:
            self._first_frame_added = True
            for index in sorted(set(range(scores.shape[1])) - set(self._new)):
                _add_sample(self.first, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
        for index in list(self._new)[-self.most_samples :]:
            _add_sample(self.later, problem.sample(index), scores[:, index : index + 1], filters.shape[-1])
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
        """The non-empty sets, with the factor of each set's sums in the total."""
        count = self.first.weight + self.later.weight
        first_share = max(self.first_part, self.first.weight / count) if self.later.weight else 1.0
        shares = [(first_share, self.first), (1 - first_share, self.later)]
        return [(share / each.weight, each) for share, each in shares if share > 0 and each.weight]

    def report(self) -> dict[str, Any]:
        """``error_bound``: the maximum change of an eigenvalue of the total by sketching, in units of ``ridge``."""
        bound = sum(share * each.error_bound for share, each in self._shares())
        return super().report() | {"nbytes": self.first.nbytes + self.later.nbytes, "error_bound": float(bound)}


def _add_sample(equations: NormalEquations, sample: FilterObjective, scores: Tensor, kernel: int) -> None:
    """Adds one sample with scores (1, 1, h, w), unless it is not finite."""
    try:
        equations.update_with_moment(*quadratic_model(sample, scores, kernel))
    except NonFiniteInputError:  # the loss is not finite either, so the tracker rejects this update
        pass


def quadratic_model(sample: FilterObjective, scores: Tensor, kernel: int) -> tuple[Tensor, Tensor]:
    """Rows ``A^T X`` (b, p) and the moment ``X^T (H s - g)`` (1, p) of one sample with scores s (1, 1, h, w).

    Neither includes the sample's weight in the memory.
    """
    weight = sample.sample_weights
    rows = sample.curvature_rows(scores, kernel).div_(weight.sqrt())
    pull = sample.score_curvature(scores, scores) - sample.score_gradient(scores)
    return rows, sample.pull(pull, kernel).flatten(1) / weight
