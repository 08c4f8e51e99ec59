"""Features of the samples of recent frames, for online learning."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class DerivedColumns:
    """Values that a learner has computed from the rows of a table, kept until the rows are overwritten.

    Attributes:
        known: number of columns computed so far, for each of the equally long blocks of the table.
        values: (rows, columns).
    """

    known: list[int] = field(default_factory=lambda: [0])
    values: Tensor | None = None

    def forget(self) -> None:
        """Discards all values."""
        self.known, self.values = [0] * len(self.known), None


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Some rows of a larger feature table, without copying them.

    Attributes:
        table: (rows, d).
        rows: indices of the set's rows, int64 (n,), in the order in which they were stored.
        derived: shared by all sets of this table.
    """

    table: Tensor
    rows: Tensor
    derived: DerivedColumns = field(default_factory=DerivedColumns)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def whole(cls, table: Tensor) -> SampleSet:
        """All rows of a table."""
        return cls(table, torch.arange(len(table), device=table.device))

    @property
    def width(self) -> int:
        """Number of columns that :meth:`take` returns."""
        return self.table.shape[1]

    def take(self, positions: Tensor, out: Tensor | None = None) -> Tensor:
        """Features at the given positions of the set, which may repeat; written to ``out`` if given."""
        return torch.index_select(self.table, 0, self.rows[positions], out=out)


class FrameMemory:
    """Samples of the last ``frames`` frames.

    The table is a ring buffer, so neither storing nor learning copies the whole memory.

    Args:
        samples: largest number of samples per frame.
    """

    def __init__(self, frames: int, samples: int) -> None:
        self.frames = frames
        self.samples = samples
        self._table: Tensor | None = None  # (frames * samples, d)
        self._derived = DerivedColumns([0] * frames)
        self._slots: list[tuple[int, int]] = []  # slot number and count of each remembered frame, oldest first
        self._stored = 0

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, features: Tensor) -> None:
        """Stores one frame's samples (n, d), n at most ``samples``."""
        count, dim = features.shape
        if count > self.samples:
            raise ValueError(f"got {count} samples, but a frame may store at most {self.samples}")
        if self._table is None:
            self._table = features.new_empty((self.frames * self.samples, dim))
        slot = self._stored % self.frames
        self._table[slot * self.samples : slot * self.samples + count] = features
        self._derived.known[slot] = 0
        self._slots = [*self._slots, (slot, count)][-self.frames :]
        self._stored += 1

    def last(self, frames: int | None = None) -> SampleSet:
        """Samples of the last ``frames`` frames (default: all), oldest first."""
        if self._table is None:
            raise ValueError("the memory is empty: add a frame's samples first")
        slots = self._slots if frames is None else self._slots[-frames:]
        starts = [torch.arange(slot * self.samples, slot * self.samples + count) for slot, count in slots]
        return SampleSet(self._table, torch.cat(starts).to(self._table.device), self._derived)
