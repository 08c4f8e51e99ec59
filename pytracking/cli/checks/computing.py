"""Checks threads, engine and accelerators."""
import time
import warnings
from collections.abc import Iterator

import numpy as np

from pytracking.cli.checks import Finding
from pytracking.utils.threads import available_cores, most_threads

TRACKER = "rls_dimp/default"
FRAMES = 3
TOLERANCE = 1e-2  # relative difference between an accelerator's result and the CPU's: TF32 keeps ten bits


def findings() -> Iterator[Finding]:
    """Threads, accelerators, and a tracker on its engine."""
    cores, threads = available_cores(), most_threads()
    yield Finding(True, "threads", f"{threads} of {cores} cores per process (--cpu-threads changes it)")
    yield from accelerators()
    yield tracking()


def accelerators() -> Iterator[Finding]:
    """Tries a convolution on every accelerator that torch finds."""
    import torch

    names = [f"cuda:{number}" for number in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        names.append("mps")
    if not names:
        yield Finding(None, "GPU", "torch finds none")
    for name in names:
        yield try_device(name)


def try_device(name: str) -> Finding:
    """Compares a convolution on a device with the CPU's."""
    import torch
    import torch.nn.functional as F

    image, weight = torch.randn(1, 8, 32, 32), torch.randn(16, 8, 3, 3)
    expected = F.conv2d(image, weight)
    try:
        result = F.conv2d(image.to(name), weight.to(name)).cpu()
    except (RuntimeError, AssertionError) as error:  # no kernel for this GPU, no memory left, a driver too old
        reason = str(error).splitlines()[0]
        return Finding(False, name, f"a convolution fails: {reason}", "a torch that fits the driver, or --device cpu")
    worst = float((result - expected).abs().max() / expected.abs().max())
    if worst > TOLERANCE:
        return Finding(False, name, f"a convolution differs from the CPU's by {worst:.1e}", "--device cpu")
    return Finding(True, name, f"a convolution equals the CPU's to {worst:.0e}")


def tracking(tracker_name: str = TRACKER) -> Finding:
    """Tracks a moving square, with network, engine and learner as in a run."""
    import pytracking

    frames = list(_moving_square())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracker = pytracking.load(tracker_name)
            tracker.init(frames[0], (140, 100, 40, 40))
            start = time.perf_counter()
            boxes = [tracker.update(frame)["target_bbox"] for frame in frames[1:]]
    except Exception as error:  # any error here would also stop a run
        return Finding(False, tracker_name, f"does not track: {type(error).__name__}: {error}", "please report it")
    rate = len(boxes) / (time.perf_counter() - start)
    used = ", ".join(f"{key} {value}" for key, value in tracker.computing.items())
    if not np.isfinite(boxes).all():
        return Finding(False, tracker_name, f"returns boxes that are not finite ({used})", "--engine torch")
    return Finding(True, tracker_name, f"tracked {len(boxes)} frames at {rate:.0f} frames/s (warming up); {used}")


def _moving_square() -> Iterator[np.ndarray]:
    texture = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    for number in range(FRAMES + 1):
        frame = np.full((240, 320, 3), 90, np.uint8)
        frame[100:140, 140 + 2 * number : 180 + 2 * number] = texture
        yield frame
