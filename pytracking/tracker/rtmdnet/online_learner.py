"""Online learning of the last layers: mini-batches with hard negatives, gradient descent, backups of the weights."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.head import ClassifierHead, LayerGradient
from pytracking.tracker.rtmdnet.memory import SampleSet
from pytracking.tracker.rtmdnet.params import RTMDNetParams
from pytracking.tracker.rtmdnet.sampling import RandomSource

NORM_GUARD = 1e-6  # added to the norm before division, as torch.nn.utils.clip_grad_norm_ does


@dataclass(slots=True)
class LearningReport:
    """What a stage of learning did: its last mini-batch's mean cross entropy, and the number of iterations."""

    loss: float
    iterations: int


@dataclass(slots=True)
class Direction:
    """One layer's descent direction: the product outputsᵀ [rows | ones], and what the weights decay by.

    Attributes:
        outputs: (b, o).
        rows: (b, d).
        ones: (b,): what multiplies the bias.
        decay: terms (factor, weight (o, d), bias (o,)), to be summed and multiplied by the decay coefficient.
    """

    outputs: Tensor
    rows: Tensor
    ones: Tensor
    decay: list[tuple[float, Tensor, Tensor]]


@dataclass(slots=True)
class Stage:
    """One kind of learning: how long, how fast, with which momentum, and what turns gradients into directions."""

    iterations: int
    rate: float
    momentum: Momentum
    directions: Callable[[list[LayerGradient]], list[Direction]]


class Momentum:
    """Moving sums of the descent directions, one pair of tensors a layer."""

    def __init__(self, layers: list[nn.Linear]) -> None:
        self.weights = [torch.zeros_like(layer.weight.data) for layer in layers]
        self.biases = [torch.zeros_like(layer.bias.data) for layer in layers]


class WeightBackup:
    """The regularly updated weights, kept while occasional updates change the live ones (Algorithm 1, lines 7 and 9).

    Args:
        layers: the layers to keep.
        mode: ``copy`` is the algorithm. ``alias`` is the released code: restoring makes the backup itself the live
            weights, so from the second failure on the backup follows every change and restoring does nothing.
            ``none`` keeps nothing.
    """

    def __init__(self, layers: list[nn.Linear], mode: Literal["none", "copy", "alias"]) -> None:
        self.layers = layers
        self.mode = mode
        self.held = False
        self.saved: list[Tensor] = []  # weight, bias, weight, bias, ... of the last backup

    def save(self) -> None:
        """Keeps the weights of this moment, unless some are kept already."""
        if self.mode == "none" or self.held:
            return
        if not self.saved:
            self.saved = [torch.empty_like(parameter.data) for parameter in self._parameters()]
        for saved, parameter in zip(self.saved, self._parameters(), strict=True):
            saved.copy_(parameter.data)
        self.held = True

    def restore(self) -> None:
        """Brings the kept weights back, if there are any, and forgets that they were kept."""
        if not self.held:
            return
        for saved, parameter in zip(self.saved, self._parameters(), strict=True):
            if self.mode == "alias":
                parameter.data = saved
            else:
                parameter.data.copy_(saved)
        self.held = False

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for layer in self.layers for parameter in (layer.weight, layer.bias)]


class OnlineLearner:
    """Plain mini-batch gradient descent with momentum, in three stages: initial, regular and occasional.

    Args:
        head: the layers that learn.
        params: rates, numbers of iterations, batch sizes.
        rng: source of the order in which samples are visited.
    """

    def __init__(self, head: ClassifierHead, params: RTMDNetParams, rng: RandomSource) -> None:
        self.head = head
        self.params = params
        self.rng = rng
        self.backup = WeightBackup(head.layers, params.weight_backup)
        self._initial = Momentum(head.layers)
        self._regular = Momentum(head.layers)
        self._occasional = self._regular if params.shared_momentum else Momentum(head.layers)

    @property
    def rank(self) -> int:
        """Rank of what is remembered of earlier mini-batches: none."""
        return 0

    @property
    def nbytes(self) -> int:
        """Memory of what is remembered of earlier mini-batches."""
        return 0

    def learn_initially(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Learns the target's appearance in the first frame."""
        iterations, rate = self.params.initial_iterations, self.params.initial_rate
        return self._learn(positives, negatives, Stage(iterations, rate, self._initial, self._regular_directions))

    def update_regularly(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Goes on from the last regular update, whatever occasional updates did since."""
        self.backup.restore()
        iterations, rate = self.params.update_iterations, self.params.regular_rate
        return self._learn(positives, negatives, Stage(iterations, rate, self._regular, self._regular_directions))

    def update_occasionally(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Adapts to the recent past after a failure; the next regular update discards it where backups are kept."""
        self.backup.save()
        iterations, rate = self.params.update_iterations, self.params.occasional_rate
        return self._learn(positives, negatives, Stage(iterations, rate, self._occasional, self._plain_directions))

    def _learn(self, positives: SampleSet, negatives: SampleSet, stage: Stage) -> LearningReport:
        if not len(positives) or not len(negatives):
            return LearningReport(loss=float("nan"), iterations=0)
        params, device = self.params, positives.table.device
        batch = params.batch_positives, max(params.mined_negatives, params.batch_negatives)
        positive_order, negative_order = self._visiting_order(
            (len(positives), len(negatives)), tuple(size * stage.iterations for size in batch)
        )
        loss = torch.full((), float("nan"))
        for chosen, offered in zip(positive_order.split(batch[0]), negative_order.split(batch[1]), strict=True):
            target, background = positives.take(chosen.to(device)), self._hardest(negatives.take(offered.to(device)))
            labels = torch.cat([chosen.new_ones(len(target)), chosen.new_zeros(len(background))]).to(device)
            gradients, loss = self.head.gradients(torch.cat([target, background]), labels)
            self._descend(stage.directions(gradients), stage.momentum, stage.rate)
        return LearningReport(loss=float(loss), iterations=stage.iterations)

    def _visiting_order(self, counts: tuple[int, int], visits: tuple[int, ...]) -> list[Tensor]:
        """Positions of the positives and the negatives for all mini-batches: each set shuffled, over and over."""
        orders = [[self.rng.permutation(count)] for count in counts]
        for order, count, wanted in zip(orders, counts, visits, strict=True):
            order += [self.rng.permutation(count) for _ in range((wanted - 1) // count)]
        return [
            torch.from_numpy(np.concatenate(order)[:wanted]) for order, wanted in zip(orders, visits, strict=True)
        ]

    def _hardest(self, candidates: Tensor) -> Tensor:
        if len(candidates) <= self.params.batch_negatives:
            return candidates
        hardest = self.head.scores(candidates).topk(self.params.batch_negatives).indices
        return candidates.index_select(0, hardest)

    def _regular_directions(self, gradients: list[LayerGradient]) -> list[Direction]:
        return self._plain_directions(gradients)

    def _plain_directions(self, gradients: list[LayerGradient]) -> list[Direction]:
        return clip_together(self._unclipped_directions(gradients), self.params.gradient_clip)

    def _unclipped_directions(self, gradients: list[LayerGradient]) -> list[Direction]:
        return [
            Direction(
                outputs=gradient.outputs,
                rows=gradient.inputs,
                ones=gradient.inputs.new_ones(len(gradient.inputs)),
                decay=[(1.0, layer.weight.data, layer.bias.data)],
            )
            for gradient, layer in zip(gradients, self.head.layers, strict=True)
        ]

    @torch.no_grad()
    def _descend(self, directions: list[Direction], momentum: Momentum, rate: float) -> None:
        params = self.params
        for number, (direction, layer) in enumerate(zip(directions, self.head.layers, strict=True)):
            step = rate * (params.last_layer_rate if number == len(directions) - 1 else 1.0)
            weight, bias = momentum.weights[number], momentum.biases[number]
            torch.addmm(weight, direction.outputs.T, direction.rows, beta=params.momentum, out=weight)
            torch.addmv(bias, direction.outputs.T, direction.ones, beta=params.momentum, out=bias)
            for factor, weight_term, bias_term in direction.decay:
                weight.add_(weight_term, alpha=factor * params.weight_decay)
                bias.add_(bias_term, alpha=factor * params.weight_decay)
            layer.weight.data.sub_(weight, alpha=step)
            layer.bias.data.sub_(bias, alpha=step)


def clip_together(directions: list[Direction], limit: float) -> list[Direction]:
    """Scales all layers' directions, without their decay, so that their common norm is at most ``limit``.

    The norm of a product of b rows by b rows follows from two b x b matrices; the product itself is not formed.
    """
    squares = [
        ((direction.outputs @ direction.outputs.T) * _row_products(direction)).sum() for direction in directions
    ]
    norm = torch.stack(squares).sum().clamp(min=0).sqrt()
    factor = (limit / (norm + NORM_GUARD)).clamp(max=1)
    for direction in directions:
        direction.outputs = direction.outputs * factor
    return directions


def _row_products(direction: Direction) -> Tensor:
    return torch.addmm(torch.outer(direction.ones, direction.ones), direction.rows, direction.rows.T)
