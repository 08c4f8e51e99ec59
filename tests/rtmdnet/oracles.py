"""Small learners, and the same learning written naively with autograd and dense matrices in float64."""
from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead

INPUTS, WIDTH = 20, 9
SIZES = {
    "batch_positives": 6, "batch_negatives": 10, "mined_negatives": 24, "initial_iterations": 5, "update_iterations": 4,
}  # fmt: skip


def make_head(seed: int = 0, dropout: float = 0.0, inputs: int = INPUTS) -> ClassifierHead:
    generator = torch.Generator().manual_seed(seed)
    layers = [nn.Linear(a, b).double() for a, b in ((inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, 2))]
    for layer in layers:
        layer.weight.data = torch.randn(layer.weight.shape, generator=generator, dtype=torch.float64) / 3
        layer.bias.data = torch.randn(layer.bias.shape, generator=generator, dtype=torch.float64) / 10
    return ClassifierHead(layers, dropout, torch.Generator().manual_seed(seed))


def make_samples(seed: int, inputs: int = INPUTS) -> tuple[SampleSet, SampleSet]:
    rng = np.random.default_rng(seed)
    positives = np.maximum(rng.standard_normal((30, inputs)) + 0.4, 0)
    negatives = np.maximum(rng.standard_normal((50, inputs)) - 0.1, 0)
    return SampleSet.whole(torch.from_numpy(positives)), SampleSet.whole(torch.from_numpy(negatives))


def weights(head: ClassifierHead) -> list[Tensor]:
    return [part.detach().clone() for layer in head.layers for part in (layer.weight, layer.bias)]


class NaiveLearner:
    """Autograd, explicit gradients, dense P; three sets of momentum; backups copied."""

    def __init__(self, head: ClassifierHead, params, *, rls: bool) -> None:
        self.layers, self.params, self.rls = copy.deepcopy(head.layers), params, rls
        self.momenta = {stage: None for stage in ("initial", "regular", "occasional")}
        deltas = params.delta if rls else ()
        self.inverses = [
            torch.eye(layer.in_features + 1, dtype=torch.float64) / delta
            for layer, delta in zip(self.layers, deltas, strict=False)
        ]

    def forward(self, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        inputs = []
        for number, layer in enumerate(self.layers):
            inputs.append(rows.detach())
            rows = layer(rows)
            rows = torch.relu(rows) if number < 2 else rows
        return rows, inputs

    def learn(self, stage: str, samples: tuple[SampleSet, SampleSet], seed: int, iterations: int, rate: float) -> None:
        params, rng = self.params, np.random.default_rng(seed)
        sets = [held.take(torch.arange(len(held))) for held in samples]
        visits = params.batch_positives * iterations, params.mined_negatives * iterations
        order = [[rng.permutation(len(rows))] for rows in sets]
        for number, rows in enumerate(sets):
            while sum(map(len, order[number])) < visits[number]:
                order[number].append(rng.permutation(len(rows)))
        positive, negative = (np.concatenate(part) for part in order)
        for turn in range(iterations):
            chosen = sets[0][positive[turn * params.batch_positives :][: params.batch_positives]]
            offered = sets[1][negative[turn * params.mined_negatives :][: params.mined_negatives]]
            with torch.no_grad():
                hardest = self.forward(offered)[0][:, 1].topk(params.batch_negatives).indices
            self.step(stage, torch.cat([chosen, offered[hardest]]), len(chosen), rate)

    def step(self, stage: str, rows: Tensor, positives: int, rate: float) -> None:
        params = self.params
        logits, inputs = self.forward(rows)
        labels = torch.tensor([1] * positives + [0] * (len(rows) - positives))
        parameters = [part for layer in self.layers for part in (layer.weight, layer.bias)]
        flat = torch.autograd.grad(nn.functional.cross_entropy(logits, labels), parameters)
        gradients = [torch.cat([flat[2 * k], flat[2 * k + 1][:, None]], 1) for k in range(3)]
        joined = [torch.cat([layer.weight.data, layer.bias.data[:, None]], 1) for layer in self.layers]
        improved = self.rls and stage != "occasional"
        clip, decay = (params.clip, params.decay) if improved else ("before", "plain")
        if clip == "before":
            gradients = self.clipped(gradients)
        if improved:
            gradients = self.preconditioned(gradients, joined, inputs, decay)
        if clip == "after":
            gradients = self.clipped(gradients)
        if decay == "plain":
            gradients = [g + params.weight_decay * w for g, w in zip(gradients, joined, strict=True)]
        old = self.momenta[stage] or [torch.zeros_like(g) for g in gradients]
        self.momenta[stage] = [params.momentum * v + g for v, g in zip(old, gradients, strict=True)]
        for number, (layer, change) in enumerate(zip(self.layers, self.momenta[stage], strict=True)):
            step = rate * (params.last_layer_rate if number == 2 else 1)
            layer.weight.data -= step * change[:, :-1]
            layer.bias.data -= step * change[:, -1]

    def preconditioned(self, gradients, joined, inputs, decay) -> list[Tensor]:
        params, results = self.params, []
        for number, gradient in enumerate(gradients):
            mean = torch.cat([inputs[number].mean(0), torch.ones(1, dtype=torch.float64)])
            inverse = self.inverses[number]
            gain = inverse @ mean / (params.beta + mean @ inverse @ mean)
            self.inverses[number] = (inverse - torch.outer(gain, mean @ inverse)) / params.beta
            extra = params.weight_decay * joined[number] if decay == "preconditioned" else 0
            results.append((gradient + extra) @ self.inverses[number])
        return results

    def clipped(self, gradients: list[Tensor]) -> list[Tensor]:
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        factor = min(1.0, self.params.gradient_clip / (float(norm) + 1e-6))
        return [factor * g for g in gradients]
