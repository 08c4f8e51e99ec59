"""What all sources of training examples have in common."""
from __future__ import annotations

import numpy as np
from torch.utils.data import Dataset


class Examples(Dataset):
    """Examples, found by number, that depend on (seed, epoch, index) alone: any run can be resumed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch whose examples are drawn next."""
        self.epoch = epoch

    def rng(self, index: int) -> np.random.Generator:
        """The random numbers of one example."""
        return np.random.default_rng([self.seed, self.epoch, index])
