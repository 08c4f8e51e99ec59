"""Prefetches the next item while the current one is used, e.g. decodes a frame while the tracker works."""
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pytracking.utils.threads import most_threads

Item = TypeVar("Item")
_END = object()


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yields the same items, but requests each when the previous one is yielded; holds at most one.

    An exception is raised in place of its item. If only one thread may be used, nothing is prefetched: that would only
    slow the tracker down.
    """
    if most_threads() == 1:
        yield from items
        return
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as reader:
        waiting = reader.submit(next, iterator, _END)
        while (item := waiting.result()) is not _END:
            waiting = reader.submit(next, iterator, _END)
            yield item
