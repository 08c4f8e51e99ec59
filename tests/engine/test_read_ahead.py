"""Reading ahead: the same items and exceptions, one of them early."""
import threading

import pytest

from pytracking.utils import read_ahead as module
from pytracking.utils.read_ahead import read_ahead


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request, monkeypatch):
    monkeypatch.setattr(module, "most_threads", lambda: request.param)
    return request.param


def test_items_in_order(threads):
    assert list(read_ahead(range(7))) == list(range(7))
    assert list(read_ahead([])) == []


def test_an_exception_comes_where_its_item_would(threads):
    def items():
        yield 1
        yield 2
        raise OSError("third")

    seen = []
    with pytest.raises(OSError, match="third"):
        for item in read_ahead(items()):
            seen.append(item)
    assert seen == [1, 2]


def test_the_next_item_is_made_meanwhile_and_no_more(monkeypatch):
    monkeypatch.setattr(module, "most_threads", lambda: 2)
    made, second = [], threading.Event()

    def make(index):
        made.append(index)
        if index == 1:
            second.set()
        return index

    items = read_ahead(map(make, range(5)))
    assert next(items) == 0
    assert second.wait(10)  # without anybody asking for it
    assert made == [0, 1]
    items.close()
    assert not any(thread.name.startswith("read-ahead") for thread in threading.enumerate())
