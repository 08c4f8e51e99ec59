"""Gradient descent preconditioned by recursive least squares, for DiMP's filter.

The learner is the same for every loss; each loss defines its own :meth:`FilterObjective.input_weights`.
DiMP's loss weights the residual of sample j at position k by ``v_jk = sqrt(sample weight_j) * spatial weight_jk``, so
the paper's ``gamma_jk`` (Eq. costfunctionLSATOM3, where ``sqrt(gamma_jk)`` weights the residual) is ``v_jk ** 2``, and
the virtual input of Eq. mean3 sums ``v_jk x_jk`` over all N samples and all M positions. The paper's loss is linear in
the filter: it omits DiMP's score activation, whose derivative is below one away from the target.
"""
import math
import warnings
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective, SquaredObjective, TargetObjective
from ltr.models.target_classifier.filtering import correlate_with_residual
from pytracking.tracker.dimp.learner import GradientDescentLearner
from rls_ext import ForgettingOverflowError, InverseCorrelation, NonFiniteInputError, virtual_input_conv


class BlockInput(ABC):
    """Computes the rows by which an update's samples enter P."""

    @abstractmethod
    def rows(self, problem: FilterObjective, scores: Tensor, kernel: int, generator: torch.Generator) -> Tensor:
        """One vector (p,) or a block of rows (b, p) for P; scores (1, N, h, w) are those before the update."""


class VirtualInput(BlockInput):
    """The paper's Eq. mean3: ``sum_jk v_jk x_jk / sqrt(N M)`` over every sample and position."""

    def rows(self, problem: FilterObjective, scores: Tensor, kernel: int, generator: torch.Generator) -> Tensor:
        features, weights = problem.features[0], problem.input_weights(scores)[0]  # (N, C, H, W), (N, h, w)
        if weights.stride()[1:] == (0, 0):  # one weight for all windows of a sample: sum the samples first
            features = torch.tensordot(weights[:, 0, 0], features.permute(0, 2, 3, 1), 1).permute(2, 0, 1)[None]
            weights = torch.ones_like(scores[0, :1])
        total = correlate_with_residual(features[None], problem.whole_maps(weights, kernel)[None], kernel)
        return total.flatten() / math.sqrt(scores.numel())  # N M counts only the scores in use


class ReleasedVirtualInput(BlockInput):
    """The released code's version: every second position in y and x, weights times the activation's derivative.

    N counts only the samples with nonzero weight, whereas the paper counts all samples.
    """

    def rows(self, problem: TargetObjective, scores: Tensor, kernel: int, generator: torch.Generator) -> Tensor:
        weights = (problem.derivative(scores) * problem.weight)[0, :, ::2, ::2]
        mean = virtual_input_conv(problem.features[0], kernel, weights, stride=2, rooted=True)
        used = int(torch.count_nonzero(problem.root_sample_weight.expand(1, len(weights), 1, 1)))
        return mean * math.sqrt(len(weights) / max(used, 1))


class SampledBlock(BlockInput):
    """Beyond the paper: rows drawn at random from all positions, instead of a virtual input.

    The exact block adds ``sum_jk gamma_jk x_jk x_jk^T`` to the correlation matrix: N M (about 18 000) rows. Drawing
    ``rows`` positions with probabilities proportional to gamma, with equal weights, adds the same in expectation.
    """

    def __init__(self, rows: int) -> None:
        if rows < 1:
            raise UserError(f"block_rows must be at least 1, got {rows}")
        self.count = rows

    def rows(self, problem: FilterObjective, scores: Tensor, kernel: int, generator: torch.Generator) -> Tensor:
        if not isinstance(problem, SquaredObjective):
            raise UserError("block_input='block' needs a sum of squares as loss; use 'virtual' for other losses")
        gamma = problem.weight.expand_as(scores)[0].square()  # (N, h, w)
        picks = torch.multinomial(gamma.flatten().cpu(), self.count, replacement=True, generator=generator)
        padded = F.pad(problem.features[0], [kernel // 2] * 4)  # (N, C, H + k, W + k)
        patches = []
        for sample, row, col in zip(*(i.tolist() for i in torch.unravel_index(picks, gamma.shape)), strict=True):
            patches.append(padded[sample, :, row : row + kernel, col : col + kernel].flatten())
        return torch.stack(patches) * (gamma.sum() / self.count).sqrt()


class RLSLearner(GradientDescentLearner):
    """RLS-DiMP: ``W <- W - eta * gradient * P`` (Eq. derivativenewATOM), P updated once before the recursions.

    Args:
        block_input: computes the rows that enter P.
        reset_every: reset P after this many updates; None for never.
        p_options: of :class:`rls_ext.InverseCorrelation`: delta (P_0 = I / delta), beta, form, dtype, memory_budget.
    """

    def __init__(
        self, step_length: float, *, block_input: BlockInput, reset_every: int | None = None, **p_options: Any
    ) -> None:
        super().__init__(step_length)
        if reset_every is not None and reset_every < 1:
            raise UserError(f"reset_every must be None or at least 1, got {reset_every}")
        self.block_input, self.reset_every, self.p_options = block_input, reset_every, p_options
        self.inverse: InverseCorrelation | None = None

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        self.generator = generator
        self.inverse = InverseCorrelation(filters[0].numel(), device=filters.device, **self.p_options)

    def observe(self, problem: FilterObjective, scores: Tensor, kernel: int) -> None:
        self._update_inverse(self.block_input.rows(problem, scores, kernel, self.generator))
        if self.reset_every is not None and self.inverse.steps >= self.reset_every:
            self.inverse.reset()

    def _update_inverse(self, rows: Tensor) -> None:
        try:
            self.inverse.update(rows)
        except NonFiniteInputError:  # the gradient is not finite either, so the tracker rejects this update
            pass
        except ForgettingOverflowError as error:
            warnings.warn(f"P was reset to I/delta: {error}", RuntimeWarning, stacklevel=2)
            self.inverse.reset()
            self.inverse.update(rows)

    def direction(self, gradient: Tensor) -> Tensor:
        return self.inverse.precondition(gradient.flatten(1)).view_as(gradient)

    def report(self) -> dict[str, Any]:
        size = {"rank": self.inverse.rank, "nbytes": self.inverse.nbytes, "error_bound": self.inverse.error_bound}
        return super().report() | size
