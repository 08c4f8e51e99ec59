"""RLS-DiMP: DiMP with another online learner."""
import torch

from ltr.errors import UserError
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.learner import MovingAverageLearner, OnlineLearner
from pytracking.tracker.rls_dimp.exact_learner import ExactLearner
from pytracking.tracker.rls_dimp.learner import BlockInput, ReleasedVirtualInput, RLSLearner, SampledBlock, VirtualInput
from pytracking.tracker.rls_dimp.params import RLSDimpParams


class RLSDimpTracker(DimpTracker):
    """DiMP with recursive least squares in the update stage."""

    params: RLSDimpParams

    def make_learner(self) -> OnlineLearner:
        return make_rls_learner(self.params)


def make_rls_learner(params: RLSDimpParams) -> OnlineLearner:
    """Creates the learner described by the parameters; it works with any loss."""
    if params.learner == "exact":
        learner = ExactLearner(
            beta=params.beta,
            first_part=params.init_samples_minimum_weight,
            iterations=params.exact_iterations,
            most_samples=params.exact_samples,
            ridge=params.exact_ridge,
            form=params.exact_form,
            memory_budget=int(params.exact_memory_mib * 2**20),
        )
    else:
        learner = _make_preconditioned(params)
    return learner if params.ema_alpha == 1 else MovingAverageLearner(learner, params.ema_alpha)


def _make_preconditioned(params: RLSDimpParams) -> RLSLearner:
    limited = params.p_memory_mib is not None and params.p_form != "dense"
    return RLSLearner(
        params.step_length * params.step_factor,
        delta=params.delta,
        beta=params.beta,
        block_input=_make_block_input(params),
        reset_every=params.reset_every,
        form=params.p_form,
        dtype=getattr(torch, params.p_dtype),
        memory_budget=int(params.p_memory_mib * 2**20) if limited else None,
    )


def _make_block_input(params: RLSDimpParams) -> BlockInput:
    if params.block_input == "virtual":
        return VirtualInput()
    if params.block_input == "released":
        return ReleasedVirtualInput()
    if params.block_input == "block":
        return SampledBlock(params.block_rows)
    raise UserError(f"block_input must be 'virtual', 'released' or 'block', got {params.block_input!r}")
