"""Online learners: how the filter changes in the update stage. All of the paper's DiMP trackers differ only here.

A learner is given the problem (:class:`ltr.models.target_classifier.FilterObjective`: samples, labels and weights of
the memory) and the filter, and returns a better filter. What it keeps between updates is its own affair: steepest and
gradient descent keep nothing, recursive least squares its inverse correlation matrix. The initial filter is always
learnt by steepest descent.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from ltr.errors import UserError
from ltr.models.target_classifier import FilterObjective, FilterOptimizer
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.dimp.params import DimpParams


class OnlineLearner(ABC):
    """Changes the filter (1, C, k, k) of one sequence, update after update."""

    losses: list[Tensor]  # (1,) each, of the problem at the start of each recursion of the last update

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        """Forgets everything: a new sequence starts with these filters, and draws what is random from ``generator``."""
        self.losses = []

    def notice(self, index: int) -> None:
        """Sample ``index`` of the memory is new, and what was there before is gone. Most learners need not know."""
        return

    @abstractmethod
    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        """Filters after one update stage of ``num_iter`` recursions."""

    def report(self) -> dict[str, Any]:
        """Numbers for outputs and debug views: the loss when the last update started, and what the learner keeps."""
        return {"loss": float(self.losses[0]) if self.losses else None, "rank": 0, "nbytes": 0, "error_bound": 0.0}


class SteepestDescentLearner(OnlineLearner):
    """The network's own steepest descent: step lengths from DiMP's Gauss-Newton or PrDiMP's Newton curvature."""

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

    The gradient is that of half the loss, as in DiMP's own code, from which the paper's learning rates come.
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
                self.take_in(problem, scores, filters.shape[-1])
            filters = filters - self.step_length * self.direction(problem.gradient(filters, scores))
        return filters

    def take_in(self, problem: FilterObjective, scores: Tensor, kernel: int) -> None:
        """Hears of an update's samples, with the scores (1, N, h, w) before it; some learners keep something here."""
        return

    def direction(self, gradient: Tensor) -> Tensor:
        """What is subtracted for a gradient (1, C, k, k); learners with a preconditioner change it here."""
        return gradient


class MovingAverageLearner(OnlineLearner):
    """BGD-DiMP with an exponential moving average over the filters at the end of each update stage.

    ``alpha`` is the part of what ``learner`` makes in the average; 1 gives ``learner`` itself.
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
    """The learner that the parameters describe; steepest descent is the network's own."""
    if params.learner == "steepest_descent":
        learner: OnlineLearner = SteepestDescentLearner(network.classifier.filter_optimizer)
    elif params.learner == "gradient_descent":
        learner = GradientDescentLearner(params.step_length * params.step_factor)
    else:
        raise UserError(f"learner must be 'steepest_descent' or 'gradient_descent', got {params.learner!r}")
    return learner if params.ema_alpha == 1 else MovingAverageLearner(learner, params.ema_alpha)
