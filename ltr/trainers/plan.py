"""Options of a training run, and the plan that a training setting passes to the trainer."""
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from ltr.data.examples import Examples


@dataclass(slots=True, kw_only=True)
class RunOptions:
    """Options from the command line."""

    workspace: Path  # checkpoints, logs and caches of this run
    seed: int = 0
    smoke: bool = False  # only a few steps on synthetic data, to check that a setting runs
    device: str = "auto"
    workers: int = 0  # data loading processes
    amp: bool = False  # mixed precision
    threads: int | None = None  # CPU threads of torch
    epochs: int | None = None  # replaces the setting's number
    cache_folder: Path | None = None  # for data that a setting computes once; <workspace>/cache by default

    def __post_init__(self) -> None:
        if self.cache_folder is None:
            self.cache_folder = self.workspace / "cache"


@dataclass(slots=True, kw_only=True)
class TrainingPlan:
    """Everything needed to train one network."""

    actor: nn.Module  # forward(batch) -> (loss, statistics for the log); holds the network as `.network`
    examples: Examples
    parameter_groups: list[dict[str, Any]]  # for the optimizer: params, lr
    constructor: dict[str, Any]  # how to rebuild the network: function, kwargs
    metadata: dict[str, Any]  # goes into the exported file
    epochs: int
    batch_size: int
    validation: Examples | None = None
    accumulate: int = 1  # batches per optimizer step
    weight_decay: float = 0.0
    optimizer: str = "adam"  # "adam" or "sgd" (momentum 0.9)
    learning_rate_factor: Callable[[float], float] = lambda epoch: 1.0  # of the (fractional) epoch
    gradient_clip: float | None = None  # largest norm of the gradient
    checkpoint_every: int = 500  # optimizer steps between checkpoints within an epoch
    frozen: list[nn.Module] = field(default_factory=list)  # kept in eval mode (batch-norm statistics fixed)
    collate: Callable[[list], Any] | None = None


def step_decay(every: int, factor: float) -> Callable[[float], float]:
    """Learning rate multiplied by `factor` every `every` epochs."""
    return lambda epoch: factor ** (int(epoch) // every)


def cosine_decay(epochs: int, floor: float = 0.02) -> Callable[[float], float]:
    """Half a cosine from 1 to `floor`."""
    return lambda epoch: floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(epoch / epochs, 1.0)))
