"""From a trained network to the file that trackers load, and back."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ltr.checkpoint import read_checkpoint, save_checkpoint
from ltr.trainers.plan import TrainingPlan

if TYPE_CHECKING:
    from ltr.trainers.trainer import Trainer


def export_network(path: Path, plan: TrainingPlan, trainer: Trainer) -> None:
    """Writes the network's weights in half precision with the constructor and the plan's metadata."""
    metadata = {**plan.metadata, "epochs_trained": trainer.epoch, "seed": trainer.options.seed}
    save_checkpoint(path, halved(plan.actor.network.state_dict()), plan.constructor, metadata)


def halved(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Floating point entries in float16; a value beyond its range is an error, not infinity."""
    result = {}
    for name, value in state.items():
        if value.is_floating_point():
            half = value.detach().cpu().half()
            if not torch.isfinite(half).all():
                raise OverflowError(f"{name} holds values that float16 cannot represent")
            value = half
        result[name] = value.cpu()
    return result


def load_initial(network: nn.Module, path: Path) -> None:
    """Starts a network from an exported one with the same structure."""
    stored = read_checkpoint(path).net
    wanted = network.state_dict()
    different = [n for n in wanted if n not in stored or stored[n].shape != wanted[n].shape]
    if different:
        raise ValueError(f"{path} does not fit this network: {different[0]!r} is absent or has another shape")
    network.load_state_dict({name: stored[name].to(wanted[name].dtype) for name in wanted})
