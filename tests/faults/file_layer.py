"""Disks of other kinds: one that fails at the n-th call, one that ignores the case of names as Windows and macOS do."""
from __future__ import annotations

import builtins
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


class FaultyDisk:
    """Counts the calls that touch files below ``root``; number ``at`` fails with ``error`` (an errno).

    Calls: opening, writing (half of it is written), renaming, making and removing.
    """

    def __init__(self, root: Path, at: int, error: int) -> None:
        self.root, self.at, self.error, self.calls = str(root), at, error, 0

    def touch(self, path: Any) -> bool:
        """Whether this call fails."""
        if isinstance(path, int) or not os.fspath(path).startswith(self.root):
            return False
        self.calls += 1
        return self.calls == self.at

    def fail(self, path: Any = None) -> None:
        raise OSError(self.error, os.strerror(self.error), *([os.fspath(path)] if path is not None else []))


@contextmanager
def faulty_disk(root: Path, at: int, error: int) -> Iterator[FaultyDisk]:
    """In this context the disk below ``root`` is faulty, for Python's own file functions in this process."""
    disk = FaultyDisk(root, at, error)

    def opening(real):
        def wrapped(path, mode="r", *arguments, **options):
            if disk.touch(path):
                disk.fail(path)
            file = real(path, mode, *arguments, **options)
            if any(letter in mode for letter in "wa+") and not isinstance(path, int):
                write = file.write

                def half(content):
                    if not disk.touch(path):
                        return write(content)
                    write(content[: len(content) // 2])
                    file.flush()
                    return disk.fail()  # a full disk does not say where

                file.write = half
            return file

        return wrapped

    def guarded(real):
        def wrapped(path, *arguments, **options):
            if disk.touch(path):
                disk.fail(path)
            return real(path, *arguments, **options)

        return wrapped

    with mock.patch.object(io, "open", opening(io.open)), mock.patch.object(builtins, "open", opening(builtins.open)):
        names = ("replace", "mkdir", "unlink")
        patches = [mock.patch.object(os, name, guarded(getattr(os, name))) for name in names]
        for patch in patches:
            patch.start()
        try:
            yield disk
        finally:
            for patch in patches:
                patch.stop()


@contextmanager
def case_ignoring_disk(root: Path) -> Iterator[None]:
    """In this context names below ``root`` mean the file that has them in any case, for Python's own functions."""
    listing = os.listdir

    def meant(path: Any) -> Any:
        if isinstance(path, int) or not os.fspath(path).startswith(str(root)):
            return path
        found = str(root)
        for part in Path(path).relative_to(root).parts:
            there = listing(found) if os.path.isdir(found) else []
            same = [name for name in there if name.casefold() == part.casefold()]
            found = os.path.join(found, *(same or [part]))
        return found

    def of_one(real):
        return lambda path=".", *arguments, **options: real(meant(path), *arguments, **options)

    def of_two(real):
        return lambda source, target, **options: real(meant(source), meant(target), **options)

    ones = [(os, name) for name in ("stat", "lstat", "mkdir", "unlink", "scandir", "listdir", "rmdir")]
    ones += [(io, "open"), (builtins, "open")]
    patches = [mock.patch.object(*place, of_one(getattr(*place))) for place in ones]
    patches += [mock.patch.object(os, name, of_two(getattr(os, name))) for name in ("replace", "rename")]
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield
