"""Atomic writing of files, even if the process is killed; file digests and a check for web pages."""
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
_WEB_PAGE_STARTS = (b"<!doctype html", b"<html", b"<?xml")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path next to ``path`` and renames it to ``path`` when the block ends without an exception.

    An OSError names ``path``, even if the system reports no file name, as for a full disk.
    """
    path = Path(path)
    # Host, process and counter make it unique; the suffix comes last because OpenCV and matplotlib derive the format
    # from it.
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
        with suppress(OSError):  # must not replace an earlier exception
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Adds ``path`` to OSErrors in this block that name no file, as for a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def remove_stale_temporaries(folder: str | Path) -> None:
    """Removes temporary files of killed processes below a folder; no other process may be writing there."""
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


def is_web_page(start: bytes) -> bool:
    """Whether a file that starts with these bytes is HTML or XML, such as a download server's error page."""
    return start.lstrip().lower().startswith(_WEB_PAGE_STARTS)


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
