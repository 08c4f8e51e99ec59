"""ATOM's learners: Gauss-Newton for filter and projection on the first frame, conjugate gradients for later filters."""
import torch
from torch import Tensor

from ltr.models.target_classifier import FilterObjective
from pytracking.tracker.atom.conjugate_gradient import CgTrace, ConjugateGradient
from pytracking.tracker.atom.objective import JointObjective
from pytracking.tracker.dimp.learner import OnlineLearner


def learn_jointly(
    joint: JointObjective,
    filters: Tensor,
    projection: Tensor,
    steps: int,
    iterations: int,
    traces: list[CgTrace] | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns filters (1, c, k, k) and projection (c, C) after Gauss-Newton ``steps`` of ``iterations`` each."""
    solver = ConjugateGradient(fletcher_reeves=True)

    def precondition(vector: Tensor) -> Tensor:
        return joint.precondition(vector, filters.numel())

    for _ in range(steps):
        model = joint.linearise(filters, projection)
        trace = None if traces is None else CgTrace()
        solution = solver.solve(model.product, -model.gradient(), iterations, precondition, trace)
        filter_change, projection_change = model.split(solution)
        filters, projection = filters + filter_change, projection + projection_change
        if traces is not None:
            traces.append(trace)
    return filters, projection


class ConjugateGradientLearner(OnlineLearner):
    """ATOM's updates: ``num_iter`` conjugate gradient iterations on the problem linearised at the current filter."""

    def __init__(self, *, fletcher_reeves: bool = False, forget_factor: float = 0.0) -> None:
        self.solver = ConjugateGradient(fletcher_reeves=fletcher_reeves, forget_factor=forget_factor)
        self.trace: CgTrace | None = None  # filled if set

    def start(self, filters: Tensor, generator: torch.Generator) -> None:
        super().start(filters, generator)
        self.solver.reset()

    def update(self, problem: FilterObjective, filters: Tensor, num_iter: int) -> Tensor:
        scores = problem.scores(filters)
        self.losses = [problem.loss(filters, scores)]

        def product(vector: Tensor) -> Tensor:
            return problem.curvature_product(vector.view_as(filters), scores).flatten()

        gradient = problem.gradient(filters, scores).flatten()
        return filters + self.solver.solve(product, -gradient, num_iter, trace=self.trace).view_as(filters)
