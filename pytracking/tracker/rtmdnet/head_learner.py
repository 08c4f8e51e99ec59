"""Online learning of the last layers in three kinds of stages, with mini-batches of hard negatives."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pytracking.tracker.rtmdnet.descent import Momentum, PlainDescent
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from pytracking.tracker.rtmdnet.sampling import RandomSource
from pytracking.tracker.rtmdnet.stage_guard import StageGuard
from pytracking.tracker.rtmdnet.weight_backup import WeightBackup


@dataclass(slots=True)
class LearningReport:
    """A stage's result: mean cross entropy of its last mini-batch, and its iterations (0 if it was rejected)."""

    loss: float = float("nan")
    iterations: int = 0


@dataclass(slots=True)
class Stage:
    """Settings of one stage of learning."""

    name: str
    iterations: int
    rate: float
    descent: PlainDescent
    momentum: Momentum


class HeadLearner:
    """Mini-batch gradient descent in an initial stage, in regular updates and in occasional updates.

    Subclasses may override ``_regular_descent`` to change the rule of initial and regular learning.

    Args:
        rng: determines the order in which samples are visited.
    """

    remedy = "Lower initial_rate, regular_rate and occasional_rate, or gradient_clip."

    def __init__(self, head: ClassifierHead, params: RtmdnetParams, rng: RandomSource) -> None:
        self.head = head
        self.params = params
        self.rng = rng
        self.backup = WeightBackup(head.layers, params.weight_backup)
        self.guard = StageGuard(head.layers, self.remedy)
        self._plain = PlainDescent(head.layers, params)
        self._improved = self._regular_descent()
        self._initial, self._regular, self._occasional = (Momentum(head.layers, params.momentum) for _ in range(3))
        if params.shared_momentum:
            self._occasional = self._regular
        self._buffer: Tensor | None = None  # memory for a mini-batch's positives and candidate negatives

    def _regular_descent(self) -> PlainDescent:
        return self._plain

    def report(self) -> dict[str, float]:
        """State of the learner, under the keys that all trackers' outputs use."""
        return {"rank": 0, "nbytes": 0, "error_bound": 0.0, "rejected": self.guard.rejected}

    def learn_initially(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Learns the target's appearance in the first frame."""
        params = self.params
        stage = Stage("initial", params.initial_iterations, params.initial_rate, self._improved, self._initial)
        report = self._learn(positives, negatives, stage)
        self._initial.reset()  # no longer needed, and as large as all weights
        return report

    def update_regularly(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Continues from the last regular update; discards later occasional updates if weights are backed up."""
        params = self.params
        self.backup.restore()
        stage = Stage("regular", params.update_iterations, params.regular_rate, self._improved, self._regular)
        return self._learn(positives, negatives, stage)

    def update_occasionally(self, positives: SampleSet, negatives: SampleSet) -> LearningReport:
        """Adapts to recent frames after a failure; the next regular update discards this if weights are backed up."""
        params = self.params
        self.backup.save()
        stage = Stage("occasional", params.update_iterations, params.occasional_rate, self._plain, self._occasional)
        return self._learn(positives, negatives, stage)

    def _learn(self, positives: SampleSet, negatives: SampleSet, stage: Stage) -> LearningReport:
        if not len(positives) or not len(negatives):
            return LearningReport()
        params, device = self.params, positives.table.device
        batch = params.batch_positives, max(params.mined_negatives, params.batch_negatives)
        positive_order, negative_order = self._visiting_order(
            (len(positives), len(negatives)), tuple(size * stage.iterations for size in batch)
        )
        rates = [stage.rate] * (len(self.head.layers) - 1) + [stage.rate * params.last_layer_rate]
        loss, finite = torch.full((), float("nan")), True
        self.guard.begin_stage()
        positives, negatives = stage.descent.begin_stage(stage.momentum, [positives, negatives], stage.iterations)
        for chosen, offered in zip(positive_order.split(batch[0]), negative_order.split(batch[1]), strict=True):
            features, known = self.mini_batch(positives, chosen.to(device), negatives, offered.to(device))
            labels = (torch.arange(len(features), device=device) < len(chosen)).long()
            gradients, loss = self.head.gradients(features, labels, known)
            finite = self.guard.is_sound(gradients, loss)
            if not finite:
                break
            stage.descent.descend(gradients, rates)
        stage.descent.end_stage()
        fault = self.guard.find_fault()
        if not finite or fault is not None:
            return self._reject(stage, fault)
        return LearningReport(loss=float(loss), iterations=stage.iterations)

    def _reject(self, stage: Stage, fault: str | None) -> LearningReport:
        """Undoes the stage and resets its momentum, which would lead to the same failure again."""
        self.guard.reject(stage.name, fault)
        stage.descent.abandon_stage()
        stage.momentum.reset()
        return LearningReport()

    def _visiting_order(self, counts: tuple[int, int], visits: tuple[int, ...]) -> list[Tensor]:
        """Positions of positives and negatives for all mini-batches; each set is reshuffled once it is exhausted."""
        orders = [[self.rng.permutation(count)] for count in counts]
        for order, count, wanted in zip(orders, counts, visits, strict=True):
            order += [self.rng.permutation(count) for _ in range((wanted - 1) // count)]
        return [torch.from_numpy(np.concatenate(order)[:wanted]) for order, wanted in zip(orders, visits, strict=True)]

    def mini_batch(
        self, positives: SampleSet, chosen: Tensor, negatives: SampleSet, offered: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Joins the chosen positives and the hardest of the offered negatives, those that score highest.

        Returns:
            Their features (b, d), and the first layer's outputs (b, o) if they were computed to score the negatives.
        """
        count, most = len(chosen), self.params.batch_negatives
        candidates = self._candidate_rows(count + len(offered), negatives)
        positives.take(chosen, candidates[:count])
        negatives.take(offered, candidates[count:])
        if len(offered) <= most:
            return candidates, None
        first_outputs = self.head.first_outputs(candidates)
        hardest = self.head.scores_of(first_outputs[count:]).topk(most).indices
        taken = torch.cat([torch.arange(count, device=hardest.device), hardest + count])
        return candidates.index_select(0, taken), first_outputs.index_select(0, taken)

    def _candidate_rows(self, count: int, samples: SampleSet) -> Tensor:
        """Reused memory (count, width): allocating it for every mini-batch takes longer than filling it."""
        buffer, entries = self._buffer, count * samples.width
        if buffer is None or buffer.numel() < entries or buffer.dtype != samples.table.dtype:
            buffer = self._buffer = samples.table.new_empty(entries + entries // 4)  # rows may become wider
        return buffer[:entries].view(count, samples.width)
