"""Recursive least squares for the last layers: the one part in which RLS-RTMDNet differs from simpleRT-MDNet."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from pytracking.tracker.rls_rtmdnet.layer_memory import LayerMemory, with_one
from pytracking.tracker.rls_rtmdnet.params import RLSRTMDNetParams
from pytracking.tracker.rls_rtmdnet.preconditioned_decay import PreconditionedWeights, has_short_rows, join_parameters
from pytracking.tracker.rtmdnet.descent import LayerStep, PlainDescent, clip_factor, clip_together
from pytracking.tracker.rtmdnet.head import LayerGradient
from pytracking.tracker.rtmdnet.online_learner import OnlineLearner
from rls_ext import RLSPreconditioner
from rls_ext.aligned import aligned_length

LARGE = 2**16  # weights (fc4 and fc5): their gradients are multiplied by P as factors
# Products with negatives that are kept: about 384 hard negatives come back again and again in an update, 410 to 480 are
# used on real sequences, 500 to 560 of random features.
PRODUCTS, UNBOUNDED_PRODUCTS = 448, 576


class RLSLearner(OnlineLearner):
    """Initial and regular learning by Eq. RLS_update_RTMDNet; occasional updates are plain and leave P alone."""

    remedy = (
        "Raise delta, use clip='after', or lower gradient_clip, initial_rate, regular_rate or occasional_rate."
    )

    def _regular_descent(self) -> RLSDescent:
        improved = RLSDescent(self.head.layers, self.params)
        self._plain.share_memory(improved.buffers)  # one stage ends before another begins
        return improved

    @property
    def rank(self) -> int:
        return max(memory.inverse.rank for memory in self._improved.memories)

    @property
    def nbytes(self) -> int:
        return self._improved.nbytes


class RLSDescent(PlainDescent):
    """Every layer's gradient, and the decay of its weights, multiplied by the layer's P_n.

    A mini-batch gradient is outputsᵀ inputs with b rows, so P_n is applied to the b rows of inputs.
    """

    def __init__(self, layers: list[nn.Linear], params: RLSRTMDNetParams) -> None:
        super().__init__(layers, params.gradient_clip, params.weight_decay)
        self.params = params
        widths = [aligned_length(layer.in_features + 1, layer.weight.dtype) for layer in layers]
        self.buffers = [layer.weight.new_zeros(layer.out_features, w) for layer, w in zip(layers, widths, strict=True)]
        self.share_memory(self.buffers)
        self.preconditioner = RLSPreconditioner(
            dict(zip(("fc4", "fc5", "fc6"), layers, strict=True)),
            delta=params.delta[0],
            beta=params.beta,
            overrides={
                layer: {"delta": delta, **_bounded(layer, params.memory_budget)}
                for layer, delta in zip(layers, params.delta, strict=True)
            },
        )
        self.preconditioner.remove()  # inputs and gradients are handed over here, not captured by hooks
        products = UNBOUNDED_PRODUCTS if params.memory_budget is None else PRODUCTS
        self.memories = [LayerMemory(inverse, products) for inverse in self.preconditioner.inverses.values()]
        self.decaying = {
            number: PreconditionedWeights(layer, self.memories[number], self.buffers[number])
            for number, layer in enumerate(layers)
            if is_large(layer) and params.decay == "preconditioned"
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices P and of the weights' products with them."""
        return sum(part.nbytes for part in (*self.memories, *self.decaying.values()))

    def begin_stage(self, negatives: int) -> None:
        for memory in self.memories:
            memory.begin_stage(negatives)

    def end_stage(self) -> None:
        for memory in self.memories:
            memory.end_stage()

    def abandon_stage(self) -> None:
        for part in (*self.memories, *self.decaying.values()):
            part.abandon_stage()

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient], negatives: Tensor) -> list[LayerStep]:
        params = self.params
        factor = clip_factor(gradient_norm(gradients), params.gradient_clip) if params.clip == "before" else None
        steps = []
        for number, gradient in enumerate(gradients):
            outputs = gradient.outputs if factor is None else gradient.outputs * factor
            large = is_large(self.layers[number])
            steps.append((self._large_step if large else self._small_step)(number, gradient, outputs, negatives))
        if params.clip == "after":
            clip_together(steps, params.gradient_clip)
        if params.decay == "plain":
            self._add_plain_decay(steps)
        return steps

    def _large_step(self, number: int, gradient: LayerGradient, outputs: Tensor, negatives: Tensor) -> LayerStep:
        """outputsᵀ (X P): P meets the b input rows, of which the negatives' may be known from earlier mini-batches."""
        memory, inputs = self.memories[number], gradient.inputs
        memory.learn(inputs, self._seen(gradient), negatives if number == 0 else None)
        coefficients, factors = memory.factored_step(inputs, outputs)
        if number in self.decaying:
            return self.decaying[number].step(coefficients, factors, self.weight_decay)
        return LayerStep.of(torch.mm(coefficients.T, factors, out=self.buffers[number]), inputs.shape[1])

    def _small_step(self, number: int, gradient: LayerGradient, outputs: Tensor, negatives: Tensor) -> LayerStep:
        """(outputsᵀ X + decay) P: a layer of few outputs has fewer rows of weights than a mini-batch has."""
        memory, layer = self.memories[number], self.layers[number]
        memory.see(with_one(self._seen(gradient).mean(dim=0)))
        joined = join_parameters(layer, layer.weight.new_empty(layer.out_features, layer.in_features + 1))
        joined.mul_(self.weight_decay if self.params.decay == "preconditioned" else 0.0)
        joined[:, :-1].addmm_(outputs.T, gradient.inputs)
        joined[:, -1] += outputs.sum(dim=0)
        return LayerStep.of(memory.precondition(joined), layer.in_features)

    def _seen(self, gradient: LayerGradient) -> Tensor:
        """The inputs whose mean is the virtual input, (b, d)."""
        return gradient.inputs if self.params.virtual_input == "after_dropout" else gradient.raw_inputs


def is_large(layer: nn.Linear) -> bool:
    """Whether a layer has so many weights that P should not be applied to the gradient itself."""
    return layer.weight.numel() > LARGE


def gradient_norm(gradients: list[LayerGradient]) -> Tensor:
    """Norm of all layers' gradients together.

    That of a product of b rows by b rows follows from two b x b matrices; the product itself is not formed.
    """
    squares = [
        ((gradient.outputs @ gradient.outputs.T) * (gradient.inputs @ gradient.inputs.T + 1)).sum()
        for gradient in gradients
    ]
    return torch.stack(squares).sum().clamp(min=0).sqrt()


def _bounded(layer: nn.Linear, budget: float | None) -> dict[str, int | str]:
    if budget is None or has_short_rows(layer):
        return {}
    return {"memory_budget": int(budget * 2**20), "given_up": "forget"}
