"""Errors that a user can fix, and how command lines report them and end. Used by every package except ``rls_ext``."""
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class UserError(ValueError):
    """A request cannot be carried out; the message says why and, if possible, what to do.

    Command lines print the message without a traceback. Any other exception is a bug and keeps its traceback.
    """

    def __str__(self) -> str:  # subclasses that are also KeyErrors would otherwise show the message in quotes
        return str(self.args[0]) if self.args else ""


class MissingPackageError(UserError, ImportError):
    """An optional package is not installed; the message says how to install it."""


def exit_code(run: Callable[[], int | None], *, debug: bool = False) -> int:
    """Calls ``run`` and returns its exit code; a :class:`UserError` becomes a message and exit code 2.

    Ctrl-C gives 130; SIGTERM and SIGHUP end ``run`` in the same way and give 143 and 129, as in a shell. An ``OSError``
    is reported like a ``UserError``, since it names the file and the problem (no such file, no permission, disk full).
    With ``debug`` both keep their traceback.
    """
    with raising_on_signals() as received:
        code = _run_reporting_errors(run, debug)
    return 128 + received[0] if received else code


def _run_reporting_errors(run: Callable[[], int | None], debug: bool) -> int:
    try:
        return run() or 0
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to continue", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has exited, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


@contextmanager
def raising_on_signals() -> Iterator[list[int]]:
    """In this context SIGTERM and SIGHUP raise ``KeyboardInterrupt`` once; the yielded list then holds the signal.

    So temporary files are removed and results kept. Ignored signals (SIGHUP under ``nohup``) and those handled already
    are left alone. Outside the main thread, where Python cannot set handlers, nothing changes.
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
