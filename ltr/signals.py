"""Turns signals that end a command into KeyboardInterrupt, so that temporary files are removed and results kept."""
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def raising_on_signals() -> Iterator[list[int]]:
    """In this context SIGTERM and SIGHUP raise ``KeyboardInterrupt`` once; the yielded list then holds the signal.

    Signals that are ignored (SIGHUP under ``nohup``) or already handled are left alone. Outside the main thread, where
    Python cannot set handlers, nothing changes.
    """
    received: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        for each in changed:
            signal.signal(each, signal.SIG_IGN)  # a second signal must not interrupt the clean-up
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    changed = [each for each in TERMINATING if in_main_thread and signal.getsignal(each) is signal.SIG_DFL]
    for each in changed:
        signal.signal(each, interrupt)
    try:
        yield received
    finally:
        for each in changed:
            signal.signal(each, signal.SIG_DFL)
