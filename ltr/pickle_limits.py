"""What a pickle may ask for: a budget for what it makes, and the errors where it asks for more."""
from __future__ import annotations

import pickle
import reprlib
from typing import Any, BinaryIO

from ltr.errors import UserError

MOST_READS = 500_000  # opcodes and arguments; a network of 1000 tensors has 50,000
SPARE = 2**20  # bytes that any file may have made, however small it is
CLASS_BYTES = 2**10  # what a class for a record costs
CONTAINER_BYTES = 2**8  # what a dictionary, a list or a set costs, though the pickle names it in one byte

MEMO_BYTES = 2**5  # what remembering a value adds: 100,000 of them suit 10,000 tensors
MOST_MARKS = 1000  # open at once, each with a list of its own


class UnsafeFileError(pickle.UnpicklingError):
    """The pickle names something that will not be called, or asks for more than a checkpoint needs."""


class DamagedFileError(UserError):
    """The file is not a complete ``torch.save`` file."""


class Budget:
    """What the pickles of one file of ``size`` bytes may have made."""

    def __init__(self, size: int) -> None:
        self._reads = MOST_READS
        self._copies = size + SPARE
        self._views = 2 * size + SPARE  # tied weights name a storage twice

    def read(self) -> None:
        """Something was read."""
        self._reads -= 1
        if self._reads < 0:
            raise UnsafeFileError(f"its pickle has more than {MOST_READS} steps, which no network needs")

    def copy(self, count: int) -> None:
        """That many bytes or entries are copied."""
        self._copies -= count
        if self._copies < 0:
            raise UnsafeFileError("its pickle makes copies of copies, far more than the file holds")

    def view(self, count: int) -> None:
        """A tensor of that many bytes is made on a storage."""
        self._views -= count
        if self._views < 0:
            raise UnsafeFileError("its tensors together have several times the bytes of the file")


class CountedFile:
    """The file as the interpreter sees it: every read is counted, and none claims more memory than there is file."""

    def __init__(self, file: BinaryIO, size: int, budget: Budget) -> None:
        self._file, self._size, self._budget = file, size, budget

    def read(self, count: int) -> bytes:
        self._budget.read()
        if count > 4096:
            count = max(min(count, self._size - self._file.tell()), 0)
        return self._file.read(count)

    def readline(self) -> bytes:
        self._budget.read()
        return self._file.readline()


def brief(value: Any) -> str:
    """A short text for messages: the whole of what a pickle holds may be endless."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxtuple, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = 2, 6, 6, 4, 60, 60


def is_count(value: Any) -> bool:
    """Whether it can be a length, a stride or an offset."""
    return isinstance(value, int) and 0 <= value < 2**62


def a_number(value: Any) -> Any:
    """The value, if it is a number."""
    if not isinstance(value, (int, float)):
        raise DamagedFileError(f"{brief(value)} is not a number")
    return value


def checked_key(key: Any) -> Any:
    """The key, unless it is a nested tuple: the hash of a few bytes of them may take forever."""
    nested = isinstance(key, tuple) and any(isinstance(part, (tuple, frozenset)) for part in key)
    if nested or isinstance(key, frozenset):
        raise UnsafeFileError("a key of its dictionaries is a nested tuple, which no checkpoint needs")
    return key
