"""The page on a disk that fails at any call: a sentence without a path, nothing left over, and room for the next."""
import errno
import json

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from pytracking.video import limited_source  # noqa: E402
from tests.faults.file_layer import faulty_disk  # noqa: E402
from tests.web.client import TRACK, client, frames_until_end, start_message, write_video  # noqa: E402


@pytest.fixture
def data(tmp_path):
    return write_video(tmp_path / "clip.avi").read_bytes()


def upload(server, data):
    return server.post("/api/videos", params={"name": "a.avi"}, content=data)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.get)
def test_uploads_survive_a_disk_that_fails_at_any_call(tmp_path, data, error):
    failed = 0
    for at in range(1, 20):
        server, uploads = client(tmp_path / str(at), max_uploads=1), tmp_path / str(at) / "uploads"
        with faulty_disk(uploads, at, error) as disk:
            answers = [upload(server, data) for _ in range(2)]  # the second makes room first
        for answer in answers:
            assert answer.status_code in (201, 507), answer.text
            assert str(tmp_path) not in answer.text
        failed += any(answer.status_code == 507 for answer in answers)
        assert upload(server, data).status_code == 201, "a failed upload keeps its place"
        assert len(server.get("/api/videos").json()) == 1
        if disk.calls < at:
            break
    assert disk.calls < at, "the loop ended before the calls did"
    assert failed >= 4  # opening and writing, of both


def test_an_upload_without_a_decoder_frees_its_place(tmp_path, data, monkeypatch):
    server = client(tmp_path, max_uploads=1)

    def no_process(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files", "/home/me")

    with monkeypatch.context() as patched:
        patched.setattr(limited_source.subprocess, "Popen", no_process)
        answer = upload(server, data)
    assert answer.status_code == 507 and "Too many open files" in answer.text and "/home" not in answer.text
    assert list((tmp_path / "uploads").iterdir()) == []
    assert upload(server, data).status_code == 201


def test_a_run_that_cannot_keep_frames_is_refused_and_the_next_one_runs(tmp_path, data):
    server = client(tmp_path)
    upload(server, data)
    with server.websocket_connect(TRACK) as socket:
        with faulty_disk(tmp_path / "uploads", 1, errno.ENOSPC):
            socket.send_text(start_message(server))
            said = socket.receive_json()
        assert said["type"] == "refused" and "No space left" in said["message"]
        assert str(tmp_path) not in json.dumps(said)
        socket.send_text(start_message(server))
        frames, end = frames_until_end(socket)
        assert len(frames) == 9 and end["complete"]


def test_a_video_that_the_disk_does_not_take_is_not_handed_out(tmp_path, data):
    server = client(tmp_path)
    upload(server, data)
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        _, end = frames_until_end(socket)
    with faulty_disk(tmp_path / "uploads", 1, errno.ENOSPC):  # no folder to write it in
        answer = server.get(f"/api/runs/{end['run']}/video")
    assert answer.status_code == 422 and "No space left" in answer.text and str(tmp_path) not in answer.text
    assert server.get(f"/api/runs/{end['run']}/video").status_code == 200
