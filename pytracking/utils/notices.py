"""Prints warnings as single lines for users of the command line, without the source line."""
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class Notice(UserWarning):
    """Information for the user that is not a problem."""


def show_warnings_plainly() -> None:
    """Prints all further warnings of this process as single lines; for our own programs."""
    warnings.showwarning = _show


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Does the same within a block, for functions called from other programs."""
    before = warnings.showwarning
    is_default = before is warnings._showwarning_orig  # keep replacements by pytest, loggers etc.
    if is_default:
        warnings.showwarning = _show
    try:
        yield
    finally:
        if is_default:
            warnings.showwarning = before


def _show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    name = "NOTE" if issubclass(category, Notice) else category.__name__
    print(f"{name}: {message}", file=sys.stderr)
