"""Peak memory of this process, on the GPU if it uses one."""
import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak_memory() -> None:
    """Resets the peak, on systems that allow it (Linux, CUDA)."""
    torch = sys.modules.get("torch")  # do not import torch for trackers that do not use it
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        _CLEAR.write_text("5")
    except OSError:
        pass  # not Linux: the peak is that since the start of the process


def peak_memory_mib() -> float:
    """Peak in MiB: memory allocated on the GPU if there is any, otherwise resident memory of the process."""
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
