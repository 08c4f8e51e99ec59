"""Learning in the background: the filter is updated while the next frame is read, cropped and run through the network.

Only the classification of that frame needs the new filter.
"""
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import Tensor


class Report(Mapping[str, Any]):
    """A task's result as a mapping; reading it waits for the task."""

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
        return dict, (dict(self),)  # copied and pickled as a plain dict


class BackgroundLearning:
    """Mixin that updates a tracker's filter in a separate thread."""

    _filters: Tensor
    _pool: ThreadPoolExecutor | None = None
    _task: Future | None = None

    @property
    def filters(self) -> Tensor:
        """(1, C, k, k), after all updates started so far."""
        self.settle()
        return self._filters

    @filters.setter
    def filters(self, filters: Tensor) -> None:
        self.settle()
        self._filters = filters

    def start_in_background(self, update: Callable[[], dict[str, Any]]) -> Report:
        """Starts ``update``, which sets ``_filters``, once the previous update is done; returns its future result."""
        self.settle()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")
        self._task = self._pool.submit(update)
        return Report(self._task)

    def settle(self) -> None:
        """Waits for the running update; raises its error, but only once."""
        task, self._task = self._task, None
        if task is not None:
            task.result()
