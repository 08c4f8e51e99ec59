"""Online learners change the filter in the update stage; the paper's DiMP trackers differ only in their learner.

A learner receives the problem (:class:`ltr.models.target_classifier.FilterObjective`: samples, labels and weights of
the memory) and the filter, and returns a better filter. It may keep state between updates: steepest and gradient
descent keep none, recursive least squares keeps its inverse correlation matrix. The initial filter is always learnt by
steepest descent.
"""
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective, FilterOptimizer
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.dimp.params import DimpParams


class OnlineLearner(ABC):
    """Updates the filter (1, C, k, k) of one sequence."""

    losses: list[Tensor]  # (1,) each: the loss at the start of each recursion of the last update

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        """Resets the learner for a sequence with these initial filters; ``generator`` is its source of randomness."""
        self.losses = []

    def notice(self, index: int) -> None:
        """Called when the memory stores a new sample at ``index``, replacing any there. Most learners ignore it."""
        return

    @abstractmethod
    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        """Returns the filters after one update stage of ``num_iter`` recursions."""

    def report(self) -> dict[str, Any]:
        """Numbers for outputs and debug views: the loss before the last update, and the size of the learner's state."""
        return {"loss": float(self.losses[0]) if self.losses else None, "rank": 0, "nbytes": 0, "error_bound": 0.0}


class SteepestDescentLearner(OnlineLearner):
    """The network's steepest descent, with step lengths from DiMP's Gauss-Newton or PrDiMP's Newton curvature."""

    def __init__(self, optimizer: FilterOptimizer) -> None:
        self.optimizer = optimizer

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        scores, self.losses = problem.scores(filters), []
        for _ in range(num_iter):
            self.losses.append(problem.loss(filters, scores))
            filters, scores = self.optimizer.step(problem, filters, scores)
        return filters


class GradientDescentLearner(OnlineLearner):
    """BGD-DiMP: batch gradient descent with a fixed step length, the paper's eta_d.

    It follows the gradient of half the loss, as DiMP's code does; the paper's learning rates refer to it.
    """

    def __init__(self, step_length: float) -> None:
        if not step_length > 0:
            raise UserError(f"step_length must be positive, got {step_length}")
        self.step_length = step_length

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        self.losses = []
        for iteration in range(num_iter):
            scores = problem.scores(filters)
            self.losses.append(problem.loss(filters, scores))
            if iteration == 0:
                self.observe(problem, scores, filters.shape[-1])
            filters = filters - self.step_length * self.direction(problem.gradient(filters, scores))
        return filters

    def observe(self, problem: FilterObjective, scores: Tensor, kernel: int) -> None:
        """Hook for learners that learn from an update's samples; scores (1, N, h, w) are those before the update."""
        return

    def direction(self, gradient: Tensor) -> Tensor:
        """Hook for learners with a preconditioner: the direction to descend for a gradient (1, C, k, k)."""
        return gradient


class MovingAverageLearner(OnlineLearner):
    """Exponential moving average over the filters that ``learner`` returns from each update stage (BGD-DiMP with EMA).

    ``alpha`` is the weight of the new filter; 1 gives ``learner`` itself.
    """

    def __init__(self, learner: OnlineLearner, alpha: float) -> None:
        if not 0 <= alpha <= 1:
            raise UserError(f"ema_alpha must be in [0, 1], got {alpha}")
        self.learner = learner
        self.alpha = alpha

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        self.learner.start(filters, generator)

    def notice(self, index: int) -> None:
        self.learner.notice(index)

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        learnt = self.learner.update(problem, filters, num_iter)
        self.losses = self.learner.losses
        return torch.lerp(filters, learnt, self.alpha)

    def report(self) -> dict[str, Any]:
        return self.learner.report()


def make_descent_learner(params: DimpParams, network: DiMPNet) -> OnlineLearner:
    """Creates the learner described by the parameters; steepest descent uses the network's optimizer."""
    if params.learner == "steepest_descent":
        learner: OnlineLearner = SteepestDescentLearner(network.classifier.filter_optimizer)
    elif params.learner == "gradient_descent":
        learner = GradientDescentLearner(params.step_length * params.step_factor)
    else:
        raise UserError(f"learner must be 'steepest_descent' or 'gradient_descent', got {params.learner!r}")
    return learner if params.ema_alpha == 1 else MovingAverageLearner(learner, params.ema_alpha)
