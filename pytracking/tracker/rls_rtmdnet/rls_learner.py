"""Recursive least squares for the last layers: the one part in which RLS-RTMDNet differs from simpleRT-MDNet."""
from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from pytracking.tracker.rls_rtmdnet.params import RlsRtmdnetParams
from pytracking.tracker.rtmdnet.descent import LayerStep, PlainDescent, clip_together
from pytracking.tracker.rtmdnet.head import LayerGradient
from pytracking.tracker.rtmdnet.head_learner import HeadLearner
from rls_ext import InverseCorrelation, virtual_input_linear


class RlsHeadLearner(HeadLearner):
    """Initial and regular learning by Eq. RLS_update_RTMDNet; occasional updates are plain and leave P alone."""

    remedy = (
        "Raise delta, use clip='after', or lower gradient_clip, initial_rate, regular_rate or occasional_rate."
    )

    def _regular_descent(self) -> RlsDescent:
        return RlsDescent(self.head.layers, self.params, self._plain.buffers)  # one stage ends before another begins

    @property
    def inverses(self) -> list[InverseCorrelation]:
        """P of fc4, fc5 and fc6."""
        return self._improved.inverses

    def report(self) -> dict[str, float]:
        state = {
            "rank": max(inverse.rank for inverse in self.inverses),
            "nbytes": sum(inverse.nbytes for inverse in self.inverses),
            "error_bound": max(inverse.error_bound for inverse in self.inverses),
        }
        return super().report() | state


class RlsDescent(PlainDescent):
    """Every layer's gradient, and the decay of its weights, multiplied by the layer's P_n (Eq. RLS_update_RTMDNet)."""

    params: RlsRtmdnetParams

    def __init__(self, layers: list[nn.Linear], params: RlsRtmdnetParams, buffers: list[LayerStep]) -> None:
        super().__init__(layers, params, buffers)
        budget = None if params.p_memory_mib is None else int(params.p_memory_mib * 2**20)
        self.inverses = [
            InverseCorrelation(
                layer.in_features + 1,  # the bias is a weight of a constant input
                delta=delta,
                beta=params.beta,
                dtype=layer.weight.dtype,
                device=layer.weight.device,
                form="factored" if budget is None else "auto",  # without a budget, auto ends in a dense float32 matrix
                memory_budget=budget,
                when_full="forget",
            )
            for layer, delta in zip(layers, params.delta, strict=True)
        ]
        self._before: list[InverseCorrelation] = []

    def begin_stage(self) -> None:
        self._before = copy.deepcopy(self.inverses)

    def end_stage(self) -> None:
        self._before = []

    def abandon_stage(self) -> None:
        self.inverses, self._before = self._before, []

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        params, steps = self.params, self._joined(gradients)
        factor = clip_together(steps, params.gradient_clip) if params.clip == "before" else None
        if params.decay == "preconditioned":
            self._add_decay(steps)
        for inverse, gradient, step in zip(self.inverses, gradients, steps, strict=True):
            seen = gradient.inputs if params.virtual_input == "after_dropout" else gradient.raw_inputs
            inverse.update(virtual_input_linear(seen))
            if params.decay == "plain" and len(seen) < len(step.whole):  # then P has fewer rows to multiply
                self._precondition_factors(inverse, gradient, step, factor)
            else:
                inverse.precondition(step.joined, out=step.joined)
        if params.clip == "after":
            clip_together(steps, params.gradient_clip)
        if params.decay == "plain":
            self._add_decay(steps)
        return steps

    @staticmethod
    def _precondition_factors(
        inverse: InverseCorrelation, gradient: LayerGradient, step: LayerStep, factor: Tensor | None
    ) -> None:
        """The gradient is outputsᵀ [inputs | 1], so its product with P is outputsᵀ ([inputs | 1] P)."""
        outputs = gradient.outputs if factor is None else gradient.outputs * factor
        rows = step.whole.new_zeros(len(outputs), step.whole.shape[1])
        rows[:, : step.inputs] = gradient.inputs
        rows[:, step.inputs] = 1
        joined = rows[:, : step.inputs + 1]
        inverse.precondition(joined, out=joined)
        torch.mm(outputs.T, rows, out=step.whole)
