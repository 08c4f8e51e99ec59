"""Learning from one frame while the next is read, cut out and seen by the network: the filter is needed only then."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import Tensor


class Report(Mapping[str, Any]):
    """What a task returned; who reads it waits for the task's end."""

    def __init__(self, task: Future) -> None:
        self._task = task

    def __getitem__(self, key: str) -> Any:
        return self._task.result()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._task.result())

    def __len__(self) -> int:
        return len(self._task.result())

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)  # copies and other processes get what is in it


class LearnsBeside:
    """A tracker's filter, which may still be learnt, on a thread of its own, when the next frame comes."""

    _filters: Tensor
    _pool: ThreadPoolExecutor | None = None
    _task: Future | None = None

    @property
    def filters(self) -> Tensor:
        """(1, C, k, k), with everything learnt so far."""
        self.settle()
        return self._filters

    @filters.setter
    def filters(self, filters: Tensor) -> None:
        self.settle()
        self._filters = filters

    def start_beside(self, update: Callable[[], dict[str, Any]]) -> Report:
        """Starts an update that sets ``_filters``, after the last one; what it returns is there when it is read."""
        self.settle()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")
        self._task = self._pool.submit(update)
        return Report(self._task)

    def settle(self) -> None:
        """Waits until nothing is left to learn; raises what went wrong there, once."""
        task, self._task = self._task, None
        if task is not None:
            task.result()
