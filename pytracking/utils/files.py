"""Files that are either complete or absent."""
from __future__ import annotations

import hashlib
import itertools
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

HAS_LOCKS = fcntl is not None
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
_counter = itertools.count()


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Gives a temporary path in the same folder, renamed to ``path`` when the block ends without an exception.

    Raises:
        OSError: that names ``path``, whatever the system said (a full disk does not say where).
    """
    path = Path(path)
    # Host and process keep names apart; the suffix stays last because OpenCV and matplotlib choose the format by it.
    temporary = path.with_name(f".{path.name}~{_HOST}~{os.getpid()}~{next(_counter)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None or error.filename == str(temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):  # what went wrong before is worth more than this
            temporary.unlink(missing_ok=True)


def remove_stale_temporaries(folder: str | Path) -> None:
    """Removes what killed processes left in a folder and below it; call it while nobody else writes there."""
    for path in Path(folder).rglob(".*~*~*~*"):
        if path.name.split("~")[-2].isdecimal():
            with suppress(OSError):
                path.unlink(missing_ok=True)


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Waits for a file's lock and holds it; other processes and machines that share the disk wait meanwhile.

    The lock ends with its process, however that ends. Systems without ``flock`` (Windows) have none.
    """
    with open_lock(path) as file:
        lock(file, exclusive=True)
        yield


def open_lock(path: str | Path) -> IO[bytes]:
    """A file to :func:`lock`; closing it gives the lock back."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return open(path, "ab")


def lock(file: IO[bytes], *, exclusive: bool, wait: bool = True) -> bool:
    """Takes a lock, or changes the one that is held; False if others hold it and ``wait`` is not given.

    On a disk without a lock service it warns, and counts as taken.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        folder = Path(file.name).parent
        warnings.warn(f"{folder}: this disk has no locks ({error}); let one run at a time write there", stacklevel=2)
    return True


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sha256(path: str | Path) -> str:
    """Hexadecimal digest of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
