"""Sequence-runs as Ray tasks: on one machine, or on every node of a cluster that shares the result folder.

A task writes its own result files, atomically and boxes last, so a node that dies leaves nothing half-written: Ray
gives its tasks to another node, and what was finished stays.
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

_runner: TaskRunner | None = None  # one per worker process: keeps the network loaded between tasks


def run_in_worker(task: Task, threads: int) -> tuple[float, str | None]:
    """What a Ray worker does; a result that another attempt has finished is kept."""
    import torch

    global _runner
    torch.set_num_threads(threads)
    _runner = _runner or TaskRunner()
    outcome = _runner.run(task)
    return outcome.seconds, outcome.error


class RayPool:
    """Runs tasks on a Ray cluster; use as a context manager.

    Args:
        address: of a running cluster ("auto", or "host:port"); None starts Ray on this machine.
        cpus: cores for a task; its torch uses as many threads.
        gpus: fraction of a GPU for a task; 0.25 lets four tasks share one.
        retries: how often a task is given to another worker when its worker or node dies.
    """

    def __init__(self, address: str | None = None, *, cpus: int = 1, gpus: float = 0.0, retries: int = 5) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingPackageError("the engine 'ray' needs Ray: pip install 'rls-tracking[ray]'") from error
        if cpus < 1 or gpus < 0:
            raise UserError(f"a task needs at least one core and no negative share of a GPU, not {cpus} and {gpus}")
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
            except Exception as error:  # Ray raises just that when its processes take too long to start
                where = f"at {self._address}" if self._address else "on this machine"
                raise UserError(f"Ray did not start {where}: {error} Try again when it is less busy, or give "
                                "--runner local.") from error  # fmt: skip
            self._mine = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            self._ray.shutdown()

    def run(self, tasks: list[Task], progress: Callable[[Task, int], None]) -> Iterator[Outcome]:
        """Yields outcomes as tasks end. Progress comes by whole sequences: a task's frames are not reported."""
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
