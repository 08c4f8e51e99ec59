"""Warnings as a user of the command line should see them: one line, without the line of code that raised it."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class Notice(UserWarning):
    """Something that the user should know, but not a fault."""


def show_warnings_plainly() -> None:
    """From now on, for a program of our own: the process's warnings are printed as one line each."""
    warnings.showwarning = _show


@contextmanager
def plain_warnings() -> Iterator[None]:
    """The same inside a block, for functions that other people's programs call."""
    before = warnings.showwarning
    ours = before is warnings._showwarning_orig  # whoever has replaced it (pytest, a logger) knows better
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
