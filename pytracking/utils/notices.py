"""Warnings as a user of the command line should see them: one line, without the line of code that raised it."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class Notice(UserWarning):
    """Something that the user should know, but not an error."""


def show_warnings_plainly() -> None:
    """Prints this process's warnings as one line each from now on; for our own programs."""
    warnings.showwarning = _show


@contextmanager
def plain_warnings() -> Iterator[None]:
    """The same within a block, for functions that other programs call."""
    before = warnings.showwarning
    ours = before is warnings._showwarning_orig  # leave a replacement (by pytest, a logger) in place
    if ours:
        warnings.showwarning = _show
    try:
        yield
    finally:
        if ours:
            warnings.showwarning = before


def _show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    name = "NOTE" if issubclass(category, Notice) else category.__name__
    print(f"{name}: {message}", file=sys.stderr)
