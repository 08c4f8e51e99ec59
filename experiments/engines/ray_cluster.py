"""Runs sequence-runs as Ray tasks, on one machine or on a cluster whose nodes share the result folder.

A task writes its own result files, atomically and boxes last, so a dying node leaves no partial results: Ray passes
its tasks to another node, and finished results stay.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from ltr.errors import MissingPackageError, UserError
from pytracking.evaluation.environment import VARIABLE_PREFIX
from pytracking.evaluation.tasks import Outcome, Task, TaskRunner
from pytracking.utils.threads import LIBRARY_VARIABLES

POLL_SECONDS = 1.0

_runner: TaskRunner | None = None  # one per worker process, to keep the network loaded between tasks


def run_in_worker(task: Task, threads: int) -> tuple[float, str | None]:
    """Runs a task in a Ray worker; returns its seconds and error. A result that an earlier attempt finished is kept."""
    import torch

    global _runner
    torch.set_num_threads(threads)
    _runner = _runner or TaskRunner()
    outcome = _runner.run(task)
    return outcome.seconds, outcome.error


class RayPool:
    """Runs tasks on a Ray cluster; use as a context manager.

    Args:
        address: address of a running cluster ("auto", or "host:port"); None starts Ray on this machine.
        cpus: cores per task, and threads of its torch.
        gpus: GPUs per task; 0.25 lets four tasks share one.
        retries: how often a task is retried if its worker or node dies.
    """

    def __init__(self, address: str | None = None, *, cpus: int = 1, gpus: float = 0.0, retries: int = 5) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingPackageError("the engine 'ray' needs Ray: pip install 'rls-tracking[ray]'") from error
        if cpus < 1 or gpus < 0:
            raise UserError(f"cpus must be at least 1 and gpus not negative, got {cpus} and {gpus}")
        self._ray = ray
        self._address = address
        self._options = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": retries}
        self._threads = cpus
        self._mine = False

    def __enter__(self) -> RayPool:
        if not self._ray.is_initialized():
            variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLE_PREFIX)}
            variables |= dict.fromkeys(LIBRARY_VARIABLES, str(self._threads))
            options = {"runtime_env": {"env_vars": variables}, "log_to_driver": False, "include_dashboard": None}
            try:
                self._ray.init(address=self._address, **options)
            except Exception as error:  # Ray raises a plain Exception when its processes take too long to start
                where = f"at {self._address}" if self._address else "on this machine"
                raise UserError(f"Ray did not start {where}: {error} Try again when it is less busy, or use "
                                "--runner local.") from error  # fmt: skip
            self._mine = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            self._ray.shutdown()

    def run(self, tasks: list[Task], progress: Callable[[Task, int], None]) -> Iterator[Outcome]:
        """Yields outcomes as tasks end. ``progress`` is not called, because tasks do not report single frames."""
        remote = self._ray.remote(**self._options)(run_in_worker)
        pending: dict[Any, Task] = {remote.remote(task, self._threads): task for task in tasks}
        while pending:
            ready, _ = self._ray.wait(list(pending), num_returns=1, timeout=POLL_SECONDS)
            for reference in ready:
                yield self._outcome(reference, pending.pop(reference))

    def _outcome(self, reference: Any, task: Task) -> Outcome:
        try:
            seconds, error = self._ray.get(reference)
        except self._ray.exceptions.RayError as failure:
            return Outcome(task, error=f"Ray could not run the task: {type(failure).__name__}: {failure}\n")
        return Outcome(task, seconds, error)
