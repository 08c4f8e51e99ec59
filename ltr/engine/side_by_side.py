"""Marks threads that run sessions in parallel with others; a single thread per session is then fastest."""
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def side_by_side() -> Iterator[None]:
    """Sessions run by this thread in this block use a single thread; results do not change."""
    before, _here.active = is_side_by_side(), True
    try:
        yield
    finally:
        _here.active = before


def is_side_by_side() -> bool:
    """Whether this thread is in a :func:`side_by_side` block."""
    return getattr(_here, "active", False)
