"""Base class of all sources of training examples."""
import numpy as np
from torch.utils.data import Dataset


class Examples(Dataset):
    """Indexed examples that depend only on (seed, epoch, index), so any run can be resumed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch whose examples are drawn next."""
        self.epoch = epoch

    def rng(self, index: int) -> np.random.Generator:
        """The random number generator of one example."""
        return np.random.default_rng([self.seed, self.epoch, index])
