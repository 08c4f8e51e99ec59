"""Limits on what reading a pickle may cost, and the errors for files that exceed them."""
import pickle
import reprlib
from typing import Any, BinaryIO

from ltr.errors import UserError

MOST_READS = 500_000  # opcodes and arguments; a network of 1000 tensors has 50,000
SPARE = 2**20  # bytes that any file may create, however small it is
CLASS_BYTES = 2**10  # cost of a class for a record
CONTAINER_BYTES = 2**8  # cost of a dictionary, list or set, which takes a single byte in the pickle
MEMO_BYTES = 2**5  # cost of a memo entry: a file with 10,000 tensors has 100,000 of them
MOST_MARKS = 1000  # open at once; each keeps its own list


class UnsafeFileError(pickle.UnpicklingError):
    """The pickle calls something that is not allowed or asks for more resources than a checkpoint needs."""


class DamagedFileError(UserError):
    """The file is not a complete ``torch.save`` file."""


class Budget:
    """What all pickles in one file of ``size`` bytes may cost together."""

    def __init__(self, size: int) -> None:
        self._reads = MOST_READS
        self._copies = size + SPARE
        self._views = 2 * size + SPARE  # tied weights name a storage twice

    def read(self) -> None:
        """Counts one read."""
        self._reads -= 1
        if self._reads < 0:
            raise UnsafeFileError(f"its pickle has more than {MOST_READS} steps, which no network needs")

    def copy(self, count: int) -> None:
        """Counts ``count`` copied bytes or entries."""
        self._copies -= count
        if self._copies < 0:
            raise UnsafeFileError("its pickle makes copies of copies, far more than the file holds")

    def view(self, count: int) -> None:
        """Counts a tensor of ``count`` bytes that views a storage."""
        self._views -= count
        if self._views < 0:
            raise UnsafeFileError("its tensors together have several times the bytes of the file")


class CountedFile:
    """The file as the unpickler sees it: counts every read, and no read allocates more memory than the file holds."""

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
    """A shortened ``repr`` for messages: the full one of an unpickled value may be endless."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxtuple, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = 2, 6, 6, 4, 60, 60


def is_count(value: Any) -> bool:
    """Whether the value can be a length, a stride or an offset."""
    return isinstance(value, int) and 0 <= value < 2**62


def checked_number(value: Any) -> Any:
    """Returns the value if it is a number; raises a DamagedFileError otherwise."""
    if not isinstance(value, (int, float)):
        raise DamagedFileError(f"{brief(value)} is not a number")
    return value


def checked_key(key: Any) -> Any:
    """Returns the key; refuses nested tuples, a few bytes of which can take forever to hash."""
    nested = isinstance(key, tuple) and any(isinstance(part, (tuple, frozenset)) for part in key)
    if nested or isinstance(key, frozenset):
        raise UnsafeFileError("a key of its dictionaries is a nested tuple, which no checkpoint needs")
    return key
