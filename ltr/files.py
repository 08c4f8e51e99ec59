"""Files that are either complete or absent, whatever ends the process that writes them; and their digests."""
from __future__ import annotations

import hashlib
import itertools
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
_counter = itertools.count()


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Gives a temporary path beside ``path``, renamed to it when the block ends without an exception.

    An OSError names ``path``, whatever the system said: a full disk does not say where.
    """
    path = Path(path)
    # Host and process keep names apart; the suffix stays last because OpenCV and matplotlib choose the format by it.
    temporary = path.with_name(f".{path.name}~{_HOST}~{os.getpid()}~{next(_counter)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):  # what went wrong before is worth more than this
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """An error of the disk in this block names ``path``: a full one does not say where it was written."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def remove_stale_temporaries(folder: str | Path) -> None:
    """Removes what killed processes left in a folder and below it; call it while nobody else writes there."""
    for path in Path(folder).rglob(".*~*~*~*"):
        if path.name.split("~")[-2].isdecimal():
            with suppress(OSError):
                path.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """Hexadecimal digest of a file's content."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
