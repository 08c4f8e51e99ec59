"""Signals that end a command, turned into what Ctrl-C raises: temporary files go, and what is done is kept."""
from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def raising_on_signals() -> Iterator[list[int]]:
    """In this context SIGTERM and SIGHUP raise ``KeyboardInterrupt``, once; the list then holds the signal.

    A signal that is ignored (SIGHUP under ``nohup``) or that somebody else handles stays as it is, and so do all where
    Python does not allow a change: outside the main thread.
    """
    came: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        came.append(number)
        for each in changed:
            signal.signal(each, signal.SIG_IGN)  # a second one must not cut the tidying short
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    changed = [each for each in ENDINGS if in_main_thread and signal.getsignal(each) is signal.SIG_DFL]
    for each in changed:
        signal.signal(each, end)
    try:
        yield came
    finally:
        for each in changed:
            signal.signal(each, signal.SIG_DFL)
