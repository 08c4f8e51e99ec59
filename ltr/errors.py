"""Errors that a user can put right, and how a command line reports them. Used by every package but ``rls_ext``."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable

from ltr.signals import raising_on_signals


class UserError(ValueError):
    """Something was asked for that cannot be done; the message names it and, where there is one, the remedy.

    Command lines print the message without a traceback. Any other exception is a fault of the program and keeps its
    traceback.
    """

    def __str__(self) -> str:  # a subclass that is a KeyError too would show the message in quotes
        return str(self.args[0]) if self.args else ""


class MissingPackageError(UserError, ImportError):
    """An optional package is not installed; the message says how to install it."""


def exit_code(run: Callable[[], int | None], *, debug: bool = False) -> int:
    """Calls ``run`` and returns its exit code; a :class:`UserError` becomes a message and exit code 2.

    Ctrl-C gives 130. SIGTERM and SIGHUP end ``run`` in the same way and give 143 and 129, as the shell does.
    An ``OSError`` is reported like a ``UserError``: the system names the file and what is wrong with it (no such file,
    no permission, disk full). With ``debug`` both keep their traceback.
    """
    with raising_on_signals() as came:
        code = _reported(run, debug)
    return 128 + came[0] if came else code


def _reported(run: Callable[[], int | None], debug: bool) -> int:
    try:
        return run() or 0
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to continue", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2
