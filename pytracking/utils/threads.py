"""The number of threads that a tracker uses: one rule for all ways to run it.

The maximum is the parameter ``cpu_threads``, otherwise ``PYTRACKING_CPU_THREADS`` (set by ``--cpu_threads``), otherwise
``OMP_NUM_THREADS``, otherwise the number of cores available to this process.
ONNX Runtime may use all of them and chooses by measuring; the choice does not change its results. Torch's results do
change, by rounding, and its threads spin while they wait, which makes two threads several times slower than one on a
shared machine. So next to ONNX Runtime, torch always gets one thread: boxes are the same on every machine.
"""
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
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads(requested: int | None = None) -> int:
    """Maximum number of threads for a tracker; ``requested`` is its parameter ``cpu_threads``."""
    if requested is None and os.environ.get(VARIABLE):
        requested = int(os.environ[VARIABLE]) if os.environ[VARIABLE].isdecimal() else 0
    if requested is not None:
        if not isinstance(requested, int) or requested < 1:
            raise UserError(f"cpu_threads (or {VARIABLE}) must be a whole number of at least 1, got {requested!r}")
        return requested
    # OpenMP allows a list with one number per nesting level, and ignores values that it cannot parse.
    openmp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(openmp) if openmp.isdecimal() and int(openmp) else available_cores()


def state_most_threads(count: int | None) -> None:
    """Sets the maximum for this process and its children; None changes nothing."""
    if count is not None:
        os.environ[VARIABLE] = str(most_threads(count))


def threads_of_each(workers: int) -> int:
    """Threads per process for this many processes: limited by the cores in total and by the maximum for each."""
    return min(most_threads(), max(1, available_cores() // max(1, workers)))


@contextmanager
def thread_variables(threads: int) -> Iterator[None]:
    """Sets the threads of OpenMP and BLAS for processes started in this block; they read these variables on loading."""
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
    """Within this block, torch uses the tracker's ``torch_threads`` and OpenCV one thread; no effect if it has none.

    The settings are global to the program, so enclose the work of all threads. Enclosing a loop over frames lets the
    tracker learn in the background between frames; a change of torch's setting for every frame would have to wait for
    that.
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
    """Limits OpenCV to one thread: additional threads would spin for half a millisecond after resizing a patch."""
    before = cv2.getNumThreads()
    if before > 1:
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        if before > 1:
            cv2.setNumThreads(before)


def in_own_threads(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: runs a tracker's method in :func:`own_torch_threads`."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        with own_torch_threads(self):
            return method(self, *args, **options)

    return wrapped
