"""What the online learner learns from: the features of the samples of recent frames."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class DerivedColumns:
    """What a learner has computed from the rows of a table, kept until the rows are overwritten.

    Attributes:
        known: the table consists of this many blocks of equal length; how many columns are known for each of them.
        values: (rows, columns).
    """

    known: list[int] = field(default_factory=lambda: [0])
    values: Tensor | None = None

    def forget(self) -> None:
        """Nothing is known any more."""
        self.known, self.values = [0] * len(self.known), None


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Some rows of a larger table of features, without a copy of them.

    Attributes:
        table: (rows, d).
        rows: which rows belong to the set, int64 (n,), in the order in which they were stored.
        derived: shared by all sets of rows of the table.
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
        """Columns of the rows that :meth:`take` gives."""
        return self.table.shape[1]

    def take(self, positions: Tensor, out: Tensor | None = None) -> Tensor:
        """The features at some positions of the set, repeated ones included; ``out`` is memory for them."""
        return torch.index_select(self.table, 0, self.rows[positions], out=out)


class FrameMemory:
    """The samples of the last frames, the oldest frame forgotten first.

    Rows live in one table that is written round and round, so neither storing nor learning copies the memory.

    Args:
        samples: the largest number of samples per frame.
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
        """Stores one frame's samples (n, d), n up to ``samples``."""
        count, dim = features.shape
        if count > self.samples:
            raise ValueError(f"a frame may store {self.samples} samples, not {count}")
        if self._table is None:
            self._table = features.new_empty((self.frames * self.samples, dim))
        slot = self._stored % self.frames
        self._table[slot * self.samples : slot * self.samples + count] = features
        self._derived.known[slot] = 0
        self._slots = [*self._slots, (slot, count)][-self.frames :]
        self._stored += 1

    def last(self, frames: int | None = None) -> SampleSet:
        """The samples of the last ``frames`` frames (of all by default), oldest first."""
        if self._table is None:
            raise ValueError("the memory is empty: add a frame's samples first")
        slots = self._slots if frames is None else self._slots[-frames:]
        starts = [torch.arange(slot * self.samples, slot * self.samples + count) for slot, count in slots]
        return SampleSet(self._table, torch.cat(starts).to(self._table.device), self._derived)
