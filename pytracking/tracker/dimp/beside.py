"""Learning from one frame while the next is read, cut out and seen by the network: the filter is needed only then."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Beside:
    """One task at a time on a thread of its own."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._task: Future | None = None

    def start(self, function: Callable[[], dict[str, Any]]) -> Report:
        """Starts it, after what was started before; the result is there when it is read."""
        self.wait()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")
        self._task = self._pool.submit(function)
        return Report(self._task)

    def wait(self) -> None:
        """Until nothing is left to do; raises what the task raised, once."""
        task, self._task = self._task, None
        if task is not None:
            task.result()


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
