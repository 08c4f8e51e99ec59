"""How many threads a tracker computes with: one rule, for every way to run one.

The most it may use is the parameter ``cpu_threads``, else ``PYTRACKING_CPU_THREADS`` (which ``--cpu_threads`` sets),
else ``OMP_NUM_THREADS``, else the cores this process may use.
ONNX Runtime may use all of them and chooses by measuring; its results do not depend on the choice. Torch's results do,
by rounding, and its threads spin while they wait, which on a shared machine makes two threads several times slower
than one. So with ONNX Runtime torch gets one thread, whatever the machine: boxes are the same everywhere.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import torch

from ltr.errors import UserError

VARIABLE = "PYTRACKING_CPU_THREADS"
LIBRARY_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads(asked: int | None = None) -> int:
    """The most threads that a tracker may use; ``asked`` is its parameter ``cpu_threads``."""
    if asked is None and os.environ.get(VARIABLE):
        asked = int(os.environ[VARIABLE]) if os.environ[VARIABLE].isdecimal() else 0
    if asked is not None:
        if not isinstance(asked, int) or asked < 1:
            raise UserError(f"cpu_threads (or {VARIABLE}) must be a whole number of at least 1, got {asked!r}")
        return asked
    # OpenMP allows a list, one number for each level of nesting; what it cannot read it ignores, and so do we.
    stated = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(stated) if stated.isdecimal() and int(stated) else available_cores()


def state_most_threads(count: int | None) -> None:
    """Sets the number for this process and those that it starts; None changes nothing."""
    if count is not None:
        os.environ[VARIABLE] = str(most_threads(count))


def threads_of_each(workers: int) -> int:
    """Threads for each of this many processes: together no more than there are cores, each no more than it may use."""
    return min(most_threads(), max(1, available_cores() // max(1, workers)))


@contextmanager
def thread_variables(threads: int) -> Iterator[None]:
    """For processes started in this block: OpenMP and BLAS read these once, when they are loaded there."""
    before = {name: os.environ.get(name) for name in LIBRARY_VARIABLES}
    os.environ.update(dict.fromkeys(LIBRARY_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


@contextmanager
def own_torch_threads(tracker: Any) -> Iterator[None]:
    """In this block torch uses the tracker's ``torch_threads``, if it has that, and OpenCV one; afterwards as before.

    The numbers hold for all threads of the program, so put this around whatever several threads do. Around a loop over
    frames it lets the tracker learn from one frame while it is given the next; if each frame changed torch's number,
    the learning would have to end first.
    """
    before, own = torch.get_num_threads(), getattr(tracker, "torch_threads", None)
    if own is None:
        yield
        return
    with _one_opencv_thread():
        if own == before:
            yield
            return
        torch.set_num_threads(own)
        try:
            yield
            if hasattr(tracker, "settle"):
                tracker.settle()
        finally:
            torch.set_num_threads(before)


@contextmanager
def _one_opencv_thread() -> Iterator[None]:
    """Where OpenCV has more, each of them spins for half a millisecond after a patch was resized."""
    before = cv2.getNumThreads()
    if before > 1:
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        if before > 1:
            cv2.setNumThreads(before)


def in_own_threads(method: Callable[..., Any]) -> Callable[..., Any]:
    """A tracker's method computed with its own ``torch_threads``; those of the program around it stay as they are."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        with own_torch_threads(self):
            return method(self, *args, **options)

    return wrapped
