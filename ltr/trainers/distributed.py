"""Training with several processes, as started by ``torchrun``; with a single process, these functions do nothing."""
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn

from ltr.errors import UserError


def process_count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def process_rank() -> int:
    return int(os.environ.get("RANK", "0"))


def is_main_process() -> bool:
    return process_rank() == 0


def start(device_name: str) -> torch.device:
    """Joins the process group, if there is one, and returns this process's device."""
    if device_name == "auto":
        device_name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(device_name)
    if process_count() > 1:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(device)
    return device


def stop() -> None:
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


class MainProcessFailedError(UserError):
    """The main process failed while the others waited for it."""


@contextmanager
def main_process_first() -> Iterator[None]:
    """Runs a block in the main process before the others, which read the caches it writes.

    If the block raises an error there, the others raise a MainProcessFailedError.
    """
    if process_count() == 1:
        yield
    elif is_main_process():
        try:
            yield
        except BaseException:
            _from_main_process(0)
            raise
        _from_main_process(1)
    else:
        if not _from_main_process(0):
            raise MainProcessFailedError("process 0 failed while preparing the data; see its own error message")
        yield


def _from_main_process(value: int) -> int:
    """Broadcasts the main process's value to every process."""
    shared = _on_group_device(torch.tensor([value]))
    distributed.broadcast(shared, src=0)
    return int(shared)


def _on_group_device(value: Tensor) -> Tensor:
    return value.cuda() if distributed.get_backend() == "nccl" else value


def wrapped(actor: nn.Module, device: torch.device) -> nn.Module:
    """Wraps the actor to average gradients over all processes."""
    if process_count() == 1:
        return actor
    device_ids = [device.index] if device.type == "cuda" else None
    return nn.parallel.DistributedDataParallel(actor, device_ids=device_ids, find_unused_parameters=True)


def mean_over_processes(value: float) -> float:
    if process_count() == 1:
        return value
    total = _on_group_device(torch.tensor([value], dtype=torch.float64))
    distributed.all_reduce(total)
    return float(total / process_count())
