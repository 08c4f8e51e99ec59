"""Computing side by side: where several threads of a program each run a session, one thread for each is fastest."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def side_by_side() -> Iterator[None]:
    """In this block and this thread, sessions use one thread; that changes no result."""
    before, _here.active = is_side_by_side(), True
    try:
        yield
    finally:
        _here.active = before


def is_side_by_side() -> bool:
    """Whether this thread is in such a block."""
    return getattr(_here, "active", False)
