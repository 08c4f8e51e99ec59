"""The server's answers: good ones, and 4xx for everything else; never a file outside the folders."""
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.testclient import TestClient  # noqa: E402
from starlette.websockets import WebSocketDisconnect  # noqa: E402

from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.settings import SettingsError, WebSettings  # noqa: E402


def write_video(path: Path, frames: int = 9) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (128, 96))
    for index in range(frames):
        frame = np.full((96, 128, 3), 50, np.uint8)
        frame[15:39, 20 + index : 50 + index] = (30, 180, 220)
        writer.write(frame)
    writer.release()
    return path


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "served" / "deep").mkdir(parents=True)
    write_video(tmp_path / "served" / "deep" / "clip.avi")
    write_video(tmp_path / "secret.avi")
    (tmp_path / "served" / "link.avi").symlink_to(tmp_path / "secret.avi")
    (tmp_path / "served" / "notes.txt").write_text("private")
    return tmp_path / "served"


def client(tmp_path, **options) -> TestClient:
    options = {"demo": False, **options}
    return TestClient(create_app(WebSettings(uploads=tmp_path / "uploads", **options)), raise_server_exceptions=False)


def start_message(server: TestClient, **changes) -> str:
    video = server.get("/api/videos").json()[0]["id"]
    message = {"type": "start", "video": video, "box": [20, 15, 30, 24], "trackers": ["identity/default"]}
    return json.dumps({**message, **changes})


def frames_until_end(socket, drawn: bool = True) -> tuple[list[dict], dict]:
    frames = []
    while True:
        message = socket.receive()
        if message.get("bytes"):
            length = int.from_bytes(message["bytes"][:4], "big")
            frames.append(json.loads(message["bytes"][4 : 4 + length]))
            assert message["bytes"][4 + length : 6 + length] == b"\xff\xd8", "a JPEG follows"
            if drawn:
                socket.send_text(json.dumps({"type": "drawn", "index": frames[-1]["index"]}))
        else:
            last = json.loads(message["text"])
            if last["type"] not in ("started", "loaded"):
                return frames, last


def test_page_and_lists(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    assert "Track your video" in server.get("/").text
    videos = server.get("/api/videos").json()
    assert [video["title"] for video in videos] == ["deep/clip.avi"], "no link to outside, no other file"
    assert "identity/default" in server.get("/api/trackers").json()["trackers"]
    picture = server.get(f"/api/videos/{videos[0]['id']}/first.jpg")
    assert picture.status_code == 200 and picture.content[:2] == b"\xff\xd8"


def test_tracking_a_whole_video_and_its_downloads(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect("/api/track") as socket:
        socket.send_text(start_message(server))
        run = json.loads(socket.receive_text())["run"]
        frames, end = frames_until_end(socket)
    assert end == {"type": "end", "reason": "end of the video", "frames": 9}
    assert [frame["index"] for frame in frames] == list(range(9))
    assert all(frame["trackers"][0]["box"] == [20, 15, 30, 24] for frame in frames)
    rows = server.get(f"/api/runs/{run}/boxes.csv").text.splitlines()
    assert rows[0].startswith("frame,tracker,x,y,w,h") and len(rows) == 10
    video = server.get(f"/api/runs/{run}/video.mp4")
    assert video.status_code == 200 and len(video.content) > 1000
    assert not list((tmp_path / "uploads").iterdir()), "nothing is left behind"


def test_pause_step_correct_and_back_pressure(tmp_path, folder):
    server = client(tmp_path, folders=(folder,), frames_in_flight=2)
    with server.websocket_connect("/api/track") as socket:
        socket.send_text(start_message(server, trackers=["identity/default", "opencv/mil"]))
        assert json.loads(socket.receive_text())["type"] == "started"
        assert json.loads(socket.receive_text()) == {
            "type": "loaded", "networks": {"identity/default": None, "opencv/mil": None}
        }
        first = [socket.receive()["bytes"] for _ in range(2)]
        assert len(first) == 2, "two frames are in flight, the third waits for the page"
        for text in ('{"type": "pause"}', '{"type": "drawn", "index": 1}', '{"type": "correct", "box": [5, 6, 20, 20]}',
                     '{"type": "step"}'):
            socket.send_text(text)
        data = socket.receive()["bytes"]
        frame = json.loads(data[4 : 4 + int.from_bytes(data[:4], "big")])
        assert frame["index"] == 2 and frame["corrected"]
        assert frame["trackers"][0]["box"] == [5, 6, 20, 20]
        socket.send_text('{"type": "stop"}')
        _, end = frames_until_end(socket)
    assert end["reason"] == "stopped" and end["frames"] == 3


def test_two_pages_do_not_mix(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect("/api/track") as one, server.websocket_connect("/api/track") as two:
        one.send_text(start_message(server, box=[1, 1, 10, 10]))
        two.send_text(start_message(server, box=[50, 50, 12, 12]))
        (frames_one, _), (frames_two, _) = frames_until_end(one), frames_until_end(two)
    assert {tuple(frame["trackers"][0]["box"]) for frame in frames_one} == {(1, 1, 10, 10)}
    assert {tuple(frame["trackers"][0]["box"]) for frame in frames_two} == {(50, 50, 12, 12)}


def test_a_tracker_that_fails_shows_its_error_and_the_server_lives_on(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect("/api/track") as socket:
        socket.send_text(start_message(server, box=[500, 500, 10, 10]))  # outside the picture
        _, end = frames_until_end(socket)
        assert end["type"] == "error" and "box" in end["message"].lower()
        socket.send_text(start_message(server))
        frames, end = frames_until_end(socket)
        assert end["type"] == "end" and len(frames) == 9


def test_sessions_are_bounded(tmp_path, folder):
    server = client(tmp_path, folders=(folder,), max_sessions=1)
    with server.websocket_connect("/api/track") as one, server.websocket_connect("/api/track") as two:
        one.send_text(start_message(server))
        one.receive_text()
        two.send_text(start_message(server))
        assert "try again" in json.loads(two.receive_text())["message"]
        frames_until_end(one)
        two.send_text(start_message(server))
        assert json.loads(two.receive_text())["type"] == "started"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"type": "start", "video": "../../secret", "box": [1, 1, 9, 9], "trackers": ["identity/default"]}, "video"),
        ({"type": "start", "video": "x", "box": [1, 1, 9, 9], "trackers": ["os/system"]}, "no tracker"),
        ({"type": "pause"}, "nothing is being tracked"),
        ({"type": "start", "video": "x", "box": "all", "trackers": ["identity/default"]}, "box"),
    ],
)
def test_wrong_messages_are_answered(tmp_path, folder, message, says):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect("/api/track") as socket:
        socket.send_text(json.dumps(message))
        answer = json.loads(socket.receive_text())
        assert answer["type"] == "refused" and says in answer["message"]


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("clip.txt", b"text", 415), ("clip.mp4", b"", 400), ("clip.mp4", b"<html>no video</html>", 415),
        ("", b"x", 415), ("../../../etc/evil.mp4", b"x", 415), ("a" * 3000 + ".mp4", b"x", 415),
        ("clip.mp4\x00.txt", b"x", 415), ("clip.avi", b"RIFF" + bytes(100), 415),
    ],
)  # fmt: skip
def test_bad_uploads_are_refused_and_leave_nothing(tmp_path, name, body, status):
    server = client(tmp_path)
    answer = server.post("/api/videos", params={"name": name}, content=body)
    assert answer.status_code == status and answer.json()["error"]
    assert not list((tmp_path / "uploads").iterdir())
    assert not list(tmp_path.rglob("evil*"))


def test_an_upload_that_is_too_large_is_stopped(tmp_path):
    server = client(tmp_path, max_upload_bytes=1000)
    answer = server.post("/api/videos", params={"name": "a.mp4"}, content=bytes(5000))
    assert answer.status_code == 413
    assert not list((tmp_path / "uploads").iterdir())


def test_a_good_upload_can_be_tracked_and_old_ones_go(tmp_path, folder):
    server = client(tmp_path, max_uploads=1)
    data = (folder / "deep" / "clip.avi").read_bytes()
    first = server.post("/api/videos", params={"name": "../my clip.avi"}, content=data)
    assert first.status_code == 201 and first.json()["title"] == "my clip.avi"
    second = server.post("/api/videos", params={"name": "b.avi"}, content=data)
    assert [video["id"] for video in server.get("/api/videos").json()] == [second.json()["id"]]
    assert len(list((tmp_path / "uploads").iterdir())) == 1


@pytest.mark.parametrize(
    "address",
    ["/api/videos/nothing/first.jpg", "/api/runs/x/boxes.csv", "/api/runs/x/video.mp4", "/static/../app.py",
     "/static/%2e%2e/app.py", "/api/videos/..%2f..%2fsecret/first.jpg"],
)  # fmt: skip
def test_what_is_not_there_is_404(tmp_path, folder, address):
    answer = client(tmp_path, folders=(folder,)).get(address)
    assert answer.status_code == 404 and b"Traceback" not in answer.content


def test_a_remote_host_needs_the_flag_and_the_token(tmp_path, folder):
    with pytest.raises(SettingsError, match="--allow-remote"):
        WebSettings(uploads=tmp_path, host="0.0.0.0")
    settings = WebSettings(uploads=tmp_path / "u", host="0.0.0.0", allow_remote=True, demo=False).with_token()
    assert len(settings.token) >= 20
    server = TestClient(create_app(settings))
    assert server.get("/").status_code == 403
    assert server.get("/", params={"token": "wrong"}).status_code == 403
    assert server.get("/", params={"token": settings.token}).status_code == 200
    assert server.get("/api/videos").status_code == 200, "the cookie is enough from then on"


def test_pages_of_other_sites_are_kept_out(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    assert server.get("/", headers={"host": "evil.example"}).status_code == 400
    with pytest.raises(WebSocketDisconnect), server.websocket_connect(
        "/api/track", headers={"origin": "http://evil.example"}
    ):
        pass
