"""The page under load, in short; ``make soak`` has the long versions."""
import sys

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("websockets", reason="the extra 'web' is not installed")
if sys.platform != "linux":
    pytest.skip("what a process holds is read from /proc", allow_module_level=True)

from tests.faults.page_load import POOL, come_and_go, running_server, send_damaged, watch_together  # noqa: E402


def test_eight_viewers_are_served_alike_and_the_ninth_is_told():
    with running_server(frames=200, trackers=["identity/default"], demo=False) as server:
        frames, told, _ = watch_together(server, 8, "identity/default")
        assert max(frames) == 200
        assert min(frames) > 50, f"frames of each viewer when the first was done: {frames}"
        assert "busy" in told and "try again" in told
        frames, _, _ = watch_together(server, 1, "identity/default")
        assert frames == [200], "there is room again"


def test_pages_that_come_and_go_leave_nothing():
    settings = {"trackers": ["identity/default"], "max_results": 2}
    with running_server(frames=60, **settings) as server:
        first, *_, last = come_and_go(server, 40, "identity/default", every=10)
    assert last.threads <= first.threads + POOL, "a thread left by each of 30 visits would be more"
    # A connection may just be closing; one left by each of 30 visits would be more.
    assert last.descriptors <= first.descriptors + 5 and last.children <= first.children
    assert last.resident_mib - first.resident_mib < 15  # a leaked run or decoder's pipe of each visit would be more


def test_damaged_uploads_are_answered_and_nothing_is_left():
    with running_server(frames=20, trackers=["identity/default"], max_uploads=2, demo=False) as server:
        answers = send_damaged(server, 6)
        assert set(answers) <= {201, 415} and sum(answers.values()) == 6
        assert server.get("/api/server")["boot"] and server.settled().children <= 2
