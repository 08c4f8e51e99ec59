"""Writes a trained network to the file that trackers load, and starts a training from such a file."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from ltr.checkpoint import read_checkpoint, save_checkpoint
from ltr.errors import UserError
from ltr.trainers.plan import TrainingPlan

if TYPE_CHECKING:
    from ltr.trainers.trainer import Trainer


def export_network(path: Path, plan: TrainingPlan, trainer: Trainer) -> None:
    """Writes the network's weights in half precision with the constructor and the plan's metadata."""
    network = plan.actor.network
    state = network.state_dict()
    for prefix in getattr(network, "unstored_prefixes", ()):  # such as the branches of MDNet's training domains
        state = {name: value for name, value in state.items() if not name.startswith(prefix)}
    metadata = {**plan.metadata, "epochs_trained": trainer.epoch, "seed": trainer.options.seed}
    save_checkpoint(path, state, plan.constructor, metadata, half=True)


def load_initial(network: nn.Module, path: Path) -> None:
    """Loads an exported network's weights into one with the same structure; a UserError if they do not match."""
    stored = read_checkpoint(path).net
    wanted = network.state_dict()
    different = [n for n in wanted if n not in stored or stored[n].shape != wanted[n].shape]
    if different:
        raise UserError(f"{path} does not fit this network: {different[0]!r} is missing or has another shape")
    network.load_state_dict({name: stored[name].to(wanted[name].dtype) for name in wanted})
