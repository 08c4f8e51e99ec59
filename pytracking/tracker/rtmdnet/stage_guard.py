"""Rejects a stage of learning that produces infinity or NaN, since one such weight makes all later scores useless."""
import torch
from torch import Tensor, nn

from pytracking.tracker.base import RejectedUpdates
from pytracking.tracker.rtmdnet.head import LayerGradient

LAYER_NAMES = ("fc4", "fc5", "fc6")


class StageGuard:
    """Keeps the weights from before a stage, and restores them if the stage produced infinity or NaN."""

    def __init__(self, layers: list[nn.Linear], remedy: str) -> None:
        self.layers = layers
        self._rejections = RejectedUpdates(remedy)
        self._before: list[Tensor] = []

    @property
    def rejected(self) -> int:
        """Number of stages rejected in this sequence."""
        return self._rejections.count

    def begin_stage(self) -> None:
        """Copies the current weights."""
        if not self._before:
            self._before = [torch.empty_like(parameter) for _, parameter in self._parameters()]
        for kept, (_, parameter) in zip(self._before, self._parameters(), strict=True):
            kept.copy_(parameter)

    @staticmethod
    def is_sound(gradients: list[LayerGradient], loss: Tensor) -> bool:
        """Whether a mini-batch's loss and all layers' inputs are finite."""
        total = loss.double() + sum(gradient.raw_inputs.sum(dtype=torch.float64) for gradient in gradients)
        return bool(torch.isfinite(total))

    def find_fault(self) -> str | None:
        """Name of the first parameter that is not finite, or None."""
        sums = torch.stack([parameter.sum(dtype=torch.float64) for _, parameter in self._parameters()])
        finite = torch.isfinite(sums).tolist()  # waits for an accelerator once instead of six times
        return next((name for (name, _), good in zip(self._parameters(), finite, strict=True) if not good), None)

    def reject(self, stage: str, fault: str | None) -> None:
        """Restores the weights and warns; ``fault`` names the non-finite parameter, None means the scores."""
        for kept, (_, parameter) in zip(self._before, self._parameters(), strict=True):
            parameter.copy_(kept)
        broken = fault or "the scores of its samples"
        self._rejections.add(
            f"{stage} learning made {broken} infinite or not a number; the update was rejected and the previous "
            "weights were kept"
        )

    def _parameters(self) -> list[tuple[str, Tensor]]:
        return [
            (f"{name}.{part}", getattr(layer, part).data)
            for name, layer in zip(LAYER_NAMES, self.layers, strict=True)
            for part in ("weight", "bias")
        ]
