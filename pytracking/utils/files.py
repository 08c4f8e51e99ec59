"""File locks, JSON values, and the functions of ltr.files."""
import math
import numbers
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ltr.files import naming, remove_stale_temporaries, replacing, sha256, write_text

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = [
    "HAS_LOCKS", "finite", "ignores_case", "lock", "locked", "naming", "open_lock", "remove_stale_temporaries",
    "replacing", "sha256", "write_text",
]  # fmt: skip
HAS_LOCKS = fcntl is not None


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Waits for a file's lock and holds it, against all processes and machines that share the disk.

    The lock is released when its process ends, for whatever reason. Without ``flock`` (Windows) nothing is locked.
    """
    with open_lock(path) as file:
        lock(file, exclusive=True)
        yield


def open_lock(path: str | Path) -> IO[bytes]:
    """Opens a file to :func:`lock`; closing it releases the lock."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return open(path, "ab")


def lock(file: IO[bytes], *, exclusive: bool, wait: bool = True) -> bool:
    """Acquires a lock or changes the mode of a held one; returns False if it is taken and ``wait`` is False.

    On a disk without a lock service, warns and returns True.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        folder = Path(file.name).parent
        message = f"{folder}: this disk has no locks ({error}); let only one run at a time write there"
        warnings.warn(message, stacklevel=2)
    return True


def ignores_case(folder: str | Path) -> bool:
    """Whether file names in the folder, which is created if missing, are case-insensitive."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".Case") as file:
        path = Path(file.name)
        return path.with_name(path.name.swapcase()).exists()


def finite(value: Any) -> Any:
    """Replaces NaN and infinity by None: JSON has neither, and browsers reject them."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):  # numpy's floats too
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value
