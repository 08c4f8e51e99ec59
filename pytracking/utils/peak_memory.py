"""Peak memory of this process, on the GPU where one is in use."""
from __future__ import annotations

import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak_memory() -> None:
    """Starts counting again, where the system allows it (Linux, CUDA)."""
    torch = sys.modules.get("torch")  # do not load torch for a tracker without it
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        _CLEAR.write_text("5")
    except OSError:
        pass  # another system: the peak then counts from the start of the process


def peak_memory_mib() -> float:
    """MiB at the peak: allocated on the GPU if anything was, else resident memory of the process."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        allocated = torch.cuda.max_memory_allocated() / 2**20
        if allocated > 0:
            return float(allocated)
    try:
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) / 1024
    except (OSError, StopIteration, ValueError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024
