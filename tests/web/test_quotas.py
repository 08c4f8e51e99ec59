"""What one client can take of the server, and what it cannot take from others."""
import asyncio
import json
import sys
import time

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from pytracking.video import limited_source  # noqa: E402
from pytracking.video.limited_source import DecoderLimits  # noqa: E402
from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.settings import WebSettings  # noqa: E402
from pytracking.web.uploads import UploadError, UploadStore  # noqa: E402
from tests.web.client import TRACK, browse, client, start_message  # noqa: E402

REMOTE = {"host": "0.0.0.0", "allow_remote": True, "names": ("box.lan",), "demo": False, "token": "x" * 20}


def remote_clients(tmp_path, *addresses: str, **settings):
    app = create_app(WebSettings(uploads=tmp_path / "uploads", **REMOTE, **settings))
    clients = [browse(app, "http://box.lan:8000", address) for address in addresses]
    for one in clients:
        one.get("/", params={"token": REMOTE["token"]})
    return clients


def store(tmp_path, removed=None, **settings) -> UploadStore:
    made = WebSettings(uploads=tmp_path / "uploads", **REMOTE, **settings)
    return UploadStore(made, on_remove=(removed if removed is not None else []).append)


def put(made: UploadStore, client: str, size: int = 10) -> str:
    async def chunks():
        yield bytes(size)

    upload = asyncio.run(made.receive("a.mp4", client, chunks()))
    made.accept(upload.id)
    return upload.id


def ids(made: UploadStore) -> list[str]:
    return [upload.id for upload in made.complete()]


def test_a_client_makes_room_among_its_own_uploads_only(tmp_path):
    removed = []
    made = store(tmp_path, removed, max_uploads=4)
    other = put(made, "10.0.0.2")
    mine = [put(made, "10.0.0.1") for _ in range(5)]
    assert ids(made) == [other, *mine[-2:]], "half of the places are one client's"
    assert removed == mine[:3] and len(list((tmp_path / "uploads").iterdir())) == 3


def test_uploads_in_use_stay_and_the_next_is_refused(tmp_path):
    made = store(tmp_path, max_uploads=4)
    first, second = put(made, "10.0.0.1"), put(made, "10.0.0.1")
    with made.using(first), made.using(second):
        with pytest.raises(UploadError, match="your uploads") as caught:
            put(made, "10.0.0.1")
        assert caught.value.status == 507 and ids(made) == [first, second]
    third = put(made, "10.0.0.1")
    assert ids(made) == [second, third]


def test_others_uploads_go_only_when_nobody_has_looked_at_them_for_long(tmp_path):
    made = store(tmp_path, max_uploads=2, upload_keep_seconds=1.0)
    old, young = put(made, "10.0.0.1"), put(made, "10.0.0.2")
    with pytest.raises(UploadError, match="all uploads together"):
        put(made, "10.0.0.3")
    time.sleep(1.1)
    made.touch(young)
    third = put(made, "10.0.0.3")
    assert ids(made) == [young, third] and old not in ids(made)


def test_bytes_are_counted_as_they_arrive(tmp_path):
    """Many uploads at once must not get past the quota together."""
    made = store(tmp_path, max_upload_bytes=1000)  # 4000 together, 2000 of one client

    async def slow(size, gate):
        yield bytes(size)
        await gate.wait()

    async def all_at_once():
        gate = asyncio.Event()
        tasks = [asyncio.create_task(made.receive("a.mp4", f"10.0.0.{i % 3}", slow(900, gate))) for i in range(9)]
        await asyncio.sleep(0.2)
        on_disk = sum(path.stat().st_size for path in (tmp_path / "uploads").iterdir())
        gate.set()
        return on_disk, await asyncio.gather(*tasks, return_exceptions=True)

    on_disk, results = asyncio.run(all_at_once())
    assert on_disk <= 4000
    refused = [one for one in results if isinstance(one, UploadError)]
    assert len(refused) == 5 and all(one.status == 507 for one in refused)
    assert len(list((tmp_path / "uploads").iterdir())) == 4


def test_some_of_the_disk_is_left_alone_and_a_stalled_upload_ends(tmp_path):
    with pytest.raises(UploadError, match="disk is full"):
        put(store(tmp_path, min_free_bytes=2**60), "10.0.0.1")

    async def never():
        yield b"x"
        await asyncio.sleep(60)

    with pytest.raises(UploadError, match="the upload stalled"):
        asyncio.run(store(tmp_path, upload_stall_seconds=0.1).receive("a.mp4", "10.0.0.1", never()))
    assert not list((tmp_path / "uploads").iterdir())


def test_one_client_does_not_take_all_sessions(tmp_path, folder):
    settings = {"folders": (folder,), "max_sessions": 2, "frames_in_flight": 1}
    greedy, other = remote_clients(tmp_path, "10.0.0.1", "10.0.0.2", **settings)
    track = TRACK.replace("127.0.0.1", "box.lan")
    with greedy.websocket_connect(track) as one, greedy.websocket_connect(track) as two:
        one.send_text(start_message(greedy))
        assert one.receive_json()["type"] == "started"
        two.send_text(start_message(greedy))
        assert "you already track 1 video" in two.receive_json()["message"]
        with other.websocket_connect(track) as three:
            three.send_text(start_message(other))
            assert three.receive_json()["type"] == "started"
            with client_of_nobody(greedy).websocket_connect(track) as four:
                four.send_text(start_message(greedy))
                assert "busy" in four.receive_json()["message"]


def client_of_nobody(known):
    made = browse(known.app, "http://box.lan:8000", "10.0.0.9")
    made.get("/", params={"token": REMOTE["token"]})
    return made


def test_pages_are_bounded_and_one_that_does_not_listen_is_cut_off(tmp_path, folder, monkeypatch):
    server = client(tmp_path, folders=(folder,), max_pages=1)
    with server.websocket_connect(TRACK), server.websocket_connect(TRACK) as second:
        second.send_text("{}")  # which is answered where it was let in
        assert "too many pages" in second.receive_json()["message"]
        assert second.receive()["code"] == 1013
    with server.websocket_connect(TRACK) as again:
        again.send_text("{}")
        assert again.receive_json()["type"] == "refused", "there is room again"


def test_a_decoder_that_blocks_or_dies_harms_nobody(tmp_path, folder, monkeypatch):
    server = client(tmp_path, folders=(folder,), decoder=DecoderLimits(seconds=1.0))
    video = server.get("/api/videos").json()[0]["id"]
    data = (folder / "deep" / "clip.avi").read_bytes()
    for fake in ("import time; time.sleep(60)", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"):
        monkeypatch.setattr(limited_source, "COMMAND", (sys.executable, "-S", "-c", fake))
        answer = server.get(f"/api/videos/{video}")
        assert answer.status_code == 422 and ("longer than 1 s" in answer.text or "crashed" in answer.text)
        assert str(tmp_path) not in answer.text and "deep/clip.avi" in answer.text
        assert server.post("/api/videos", params={"name": "a.avi"}, content=data).status_code == 415
        with server.websocket_connect(TRACK) as socket:
            socket.send_text(start_message(server))
            said = [socket.receive_json() for _ in range(2)]
            assert said[1]["type"] == "end" and "deep/clip.avi" in said[1]["reason"] and not said[1]["complete"]
            assert str(tmp_path) not in json.dumps(said)
    assert not [path for path in (tmp_path / "uploads").iterdir() if path.suffix == ".avi"]
    assert server.get("/api/server").status_code == 200
