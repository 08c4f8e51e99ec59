"""Keeps the regularly updated weights while occasional updates change the live ones."""
from typing import Literal

import torch
from torch import Tensor, nn


class WeightBackup:
    """Algorithm 1, lines 7 and 9.

    Args:
        mode: ``copy`` follows the algorithm. ``alias`` follows the released code: restoring makes the backup itself the
            live weights, so from the second failure on the backup changes with them and restoring does nothing.
            ``none`` keeps no backup.
    """

    def __init__(self, layers: list[nn.Linear], mode: Literal["none", "copy", "alias"]) -> None:
        self.layers = layers
        self.mode = mode
        self.held = False
        self.saved: list[Tensor] = []  # the last backup: weight, bias, weight, bias, ...

    def save(self) -> None:
        """Copies the current weights, unless a copy is already held."""
        if self.mode == "none" or self.held:
            return
        if not self.saved:
            self.saved = [torch.empty_like(parameter.data) for parameter in self._parameters()]
        for saved, parameter in zip(self.saved, self._parameters(), strict=True):
            saved.copy_(parameter.data)
        self.held = True

    def restore(self) -> None:
        """Restores the copy, if one is held."""
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
