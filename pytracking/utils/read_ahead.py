"""Prepares the next item while the current one is used: frames are decoded while the tracker works."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pytracking.utils.threads import most_threads

Item = TypeVar("Item")
_END = object()


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items; each is requested when the previous one is handed out, and at most one waits.

    An exception comes where its item would have. With a single thread to use, nothing is read ahead: it would only
    take the tracker's time.
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
