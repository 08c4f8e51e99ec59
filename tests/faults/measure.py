"""What a call costs: seconds, and memory at its peak."""
from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
CAN_MEASURE = _STATUS.exists() and _RESET.exists()  # elsewhere a peak cannot be set back


@dataclass(frozen=True)
class Cost:
    """Of one call."""

    seconds: float  # of processor time: other work on the machine does not count
    peak: int  # bytes resident above what was resident before; 0 where the system does not tell
    result: Any = None
    error: BaseException | None = None


def _resident(key: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no {key}")


@contextmanager
def quick_collections() -> Iterator[None]:
    """What exists now is left out of the collections before each measurement, which take most of the time."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _give_back() -> None:
    """Free memory that the allocator keeps: in it a call could allocate much and nothing would be seen."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if CAN_MEASURE else None  # glibc's
    if trim is not None:
        trim(0)


def cost_of(call: Callable[[], Any]) -> Cost:
    """Runs ``call``; an exception is part of the result."""
    _give_back()
    before = 0
    if CAN_MEASURE:
        _RESET.write_text("5")  # the peak starts again from what is resident now
        before = _resident("VmRSS")
    result, error = None, None
    start = time.process_time()
    try:
        result = call()
    except Exception as caught:
        error = caught
    seconds = time.process_time() - start
    peak = max(_resident("VmHWM") - before, 0) if CAN_MEASURE else 0
    return Cost(seconds, peak, result, error)
