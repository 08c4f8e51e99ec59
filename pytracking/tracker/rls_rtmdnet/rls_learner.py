"""Recursive least squares for the last layers: the one part in which RLS-RTMDNet differs from simpleRT-MDNet."""
from __future__ import annotations

import torch

from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rls_rtmdnet.span_coordinates import SpanMatrix, SpanStage
from pytracking.tracker.rtmdnet.descent import LayerStep, Momentum, PlainDescent, clip_together
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead, LayerGradient
from pytracking.tracker.rtmdnet.head_learner import HeadLearner, LearningReport, Stage
from rls_ext import InverseCorrelation, virtual_input_linear
from rls_ext.basis import SMALL_DIM


class RLSHeadLearner(HeadLearner):
    """Initial and regular learning by Eq. RLS_update_RTMDNet; occasional updates are plain and leave P alone."""

    remedy = (
        "Raise delta, use clip='after', or lower gradient_clip, initial_rate, regular_rate or occasional_rate."
    )

    _state: dict[str, float] | None = None  # of P since the last stage

    def _regular_descent(self) -> RLSDescent:
        return RLSDescent(self.head, self.params)

    @property
    def inverses(self) -> list[InverseCorrelation]:
        """P of fc4, fc5 and fc6."""
        return self._improved.inverses

    def report(self) -> dict[str, float]:
        if self._state is None:
            self._state = {
                "rank": max(inverse.rank for inverse in self.inverses),
                "nbytes": sum(inverse.nbytes for inverse in self.inverses),
                "error_bound": max(inverse.error_bound for inverse in self.inverses),
            }
        return super().report() | self._state

    def _learn(self, positives: SampleSet, negatives: SampleSet, stage: Stage) -> LearningReport:
        self._state = None  # read once per stage: on an accelerator each value waits for the device
        return super()._learn(positives, negatives, stage)


class RLSDescent(PlainDescent):
    """Every layer's gradient, and the decay of its weights, multiplied by the layer's P_n (Eq. RLS_update_RTMDNet).

    The first layer's inputs are stored samples, which do not change. Where its rows are long and P has seen more than
    one stage adds, the stage works in the coordinates of ``span_coordinates.py``.
    """

    params: RLSRtmdnetParams

    def __init__(self, head: ClassifierHead, params: RLSRtmdnetParams) -> None:
        super().__init__(head.layers, params)
        self.head = head
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
            for layer, delta in zip(head.layers, params.delta, strict=True)
        ]
        self._before: list[InverseCorrelation] = []
        self._span: SpanStage | None = None  # the first layer during a stage in span coordinates
        self._left: SpanMatrix | None = None  # the first layer as the last such stage left it

    def begin_stage(self, momentum: Momentum, samples: list[SampleSet], mini_batches: int) -> list[SampleSet]:
        self._before = [inverse.snapshot() for inverse in self.inverses]
        first = self.inverses[0]
        direct = self.params.clip == "before" or first.dim <= SMALL_DIM or not first.only_appends(mini_batches)
        # The rank comes last: on an accelerator reading it would wait, and there only_appends is False.
        if direct or first.rank < mini_batches:
            self._left = None
            for each in samples:
                each.derived.forget()  # coordinates in a Q that may now change
            return super().begin_stage(momentum, samples, mini_batches)
        self.momentum = momentum
        self._span = SpanStage(self.layers[0], self._left, momentum, first, mini_batches)
        self.head.layers = [self._span.layer, *self.layers[1:]]
        return [self._span.with_coordinates(each) for each in samples]

    def end_stage(self) -> None:
        if self._span is not None:
            self._left = self._span.finish()
            self._span, self.head.layers = None, self.layers

    def abandon_stage(self) -> None:
        self.inverses, self._left = self._before, None

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        params, first = self.params, 0 if self._span is None else 1  # of the layers multiplied directly
        direct = list(zip(self.layers, self.inverses, gradients, strict=True))[first:]
        steps = [LayerStep.of(gradient) for _, _, gradient in direct]
        if params.clip == "before":
            clip_together(steps, params.gradient_clip)
        decay = params.weight_decay if params.decay == "preconditioned" else 0.0
        for step, (layer, inverse, gradient) in zip(steps, direct, strict=True):
            seen = gradient.inputs if params.virtual_input == "after_dropout" else gradient.raw_inputs
            inverse.update(virtual_input_linear(seen))
            if decay:
                step.add(layer, decay)
            inverse.precondition(step.whole, out=step.whole)
        if self._span is not None:
            steps = [self._span.step(gradients[0], decay), *steps]
        if params.clip == "after":
            clip_together(steps, params.gradient_clip)
        if params.decay == "plain":
            self._add_decay(steps)
        return steps

    def _add_decay(self, steps: list[LayerStep]) -> None:
        weights = self.layers if self._span is None else [self._span.weights, *self.layers[1:]]
        for step, layer in zip(steps, weights, strict=True):
            step.add(layer, self.params.weight_decay)

    def _move(self, number: int, step: LayerStep, rate: float) -> None:
        if number == 0 and self._span is not None:
            self._span.descend(step, self.momentum.kept, rate)
        else:
            super()._move(number, step, rate)
