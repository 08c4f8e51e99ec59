"""The server's answers: good ones, and 4xx for everything else; never a file outside the folders."""
import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.testclient import TestClient  # noqa: E402
from starlette.websockets import WebSocketDisconnect  # noqa: E402

from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.security import without_paths  # noqa: E402
from pytracking.web.settings import SettingsError, WebSettings  # noqa: E402

TRACK = "ws://127.0.0.1:8000/api/track"  # the test client sends its own host name with a bare path


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


def client(tmp_path, load=None, **options) -> TestClient:
    options = {"demo": False, **options}
    app = create_app(WebSettings(uploads=tmp_path / "uploads", **options), **({"load": load} if load else {}))
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


def start_message(server: TestClient, **changes) -> str:
    video = server.get("/api/videos").json()[0]["id"]
    message = {"type": "start", "video": video, "frame": 0, "objects": objects([20, 15, 30, 24]),
               "trackers": ["identity/default"]}
    return json.dumps({**message, **changes})


def objects(box: list[float]) -> list[dict]:
    return [{"id": 1, "box": box}]


def is_nothing(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def strict(text: str | bytes):
    """As a browser reads it: NaN and Infinity are errors."""
    return json.loads(text, parse_constant=is_nothing)


def frames_until_end(socket, drawn: bool = True) -> tuple[list[dict], dict]:
    frames = []
    while True:
        message = socket.receive()
        if message.get("bytes"):
            length = int.from_bytes(message["bytes"][:4], "big")
            frames.append(strict(message["bytes"][4 : 4 + length]))
            assert message["bytes"][4 + length : 6 + length] == b"\xff\xd8", "a JPEG follows"
            if drawn:
                word = {"type": "drawn", "run": frames[-1]["run"], "index": frames[-1]["index"]}
                socket.send_text(json.dumps(word))
        else:
            last = strict(message["text"])
            if last["type"] not in ("started", "loaded"):
                return frames, last


def box_of(frame: dict, place: int = 0) -> list[float]:
    return frame["trackers"][place]["objects"][0]["box"]


def test_page_and_lists(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    assert "Track your video" in server.get("/").text
    videos = server.get("/api/videos").json()
    assert [video["title"] for video in videos] == ["deep/clip.avi"], "no link to outside, no other file"
    assert "identity/default" in {offer["name"] for offer in server.get("/api/trackers").json()["trackers"]}
    address = f"/api/videos/{videos[0]['id']}"
    assert server.get(address).json()["length"] == 9
    for picture in ("thumbnail.jpg", "frames/0.jpg", "frames/8.jpg"):
        answer = server.get(f"{address}/{picture}")
        assert answer.status_code == 200 and answer.content[:2] == b"\xff\xd8"
    assert server.get(f"{address}/frames/9.jpg").status_code == 422


def test_trackers_that_cannot_run_say_why_and_are_refused(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path / "networks"))
    server = client(tmp_path, folders=(folder,))
    offers = {offer["name"]: offer for offer in server.get("/api/trackers").json()["trackers"]}
    assert [offer["recommended"] for offer in offers.values()][:5] == [True] * 5
    assert offers["rls_dimp/default"]["reason"] is None and offers["rls_dimp/default"]["line"]
    reason = offers["opencv/nano"]["reason"]
    assert "onnx" in reason and str(tmp_path) not in reason, "what is missing, but no path of the server"
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, trackers=["opencv/nano"]))
        assert "cannot run" in socket.receive_json()["message"]


def test_tracking_a_whole_video_and_its_downloads(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        run = json.loads(socket.receive_text())["run"]
        frames, end = frames_until_end(socket)
    assert end == {"type": "end", "run": run, "reason": "end of the video", "complete": True, "frames": 9}
    assert [frame["index"] for frame in frames] == list(range(9))
    assert all(box_of(frame) == [20, 15, 30, 24] for frame in frames)
    answer = server.get(f"/api/runs/{run}/boxes.csv")
    rows = answer.text.splitlines()
    assert rows[0].startswith("frame,tracker,object,x,y,w,h") and len(rows) == 10
    assert "clip_identity-default.csv" in answer.headers["content-disposition"]
    data = strict(server.get(f"/api/runs/{run}/boxes.json").text)
    assert data["ended"] == "end of the video" and len(data["rows"]) == 9 and data["rows"][8]["frame"] == 9
    mot = server.get(f"/api/runs/{run}/mot.txt", params={"tracker": "identity/default"})
    assert mot.text.splitlines()[0] == "1,1,20.0,15.0,30.0,24.0,1,-1,-1,-1"
    assert server.get(f"/api/runs/{run}/mot.txt", params={"tracker": "x"}).status_code == 404
    video = server.get(f"/api/runs/{run}/video")
    assert video.status_code == 200 and len(video.content) > 1000
    assert "clip_identity-default." in video.headers["content-disposition"]
    summary = strict(server.get(f"/api/runs/{run}").text)
    assert summary["frames"] == list(range(9)) and len(summary["trackers"][0]["boxes"]) == 36
    assert [path.suffix for path in (tmp_path / "uploads").iterdir()] == [".frames"], "nothing else is left behind"


def test_a_frame_can_be_looked_at_again(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        run = json.loads(socket.receive_text())["run"]
        frames, _ = frames_until_end(socket)
    answer = server.get(f"/api/runs/{run}/frames/4")
    length = int.from_bytes(answer.content[:4], "big")
    assert strict(answer.content[4 : 4 + length]) == frames[4]
    assert answer.content[4 + length : 6 + length] == b"\xff\xd8"


def test_starting_at_a_later_frame(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, frame=5))
        run = json.loads(socket.receive_text())["run"]
        frames, _ = frames_until_end(socket)
    assert [frame["index"] for frame in frames] == [5, 6, 7, 8]
    assert server.get(f"/api/runs/{run}/boxes.csv").text.splitlines()[1].startswith("6,")


def test_pause_step_correct_and_back_pressure(tmp_path, folder):
    server = client(tmp_path, folders=(folder,), frames_in_flight=2)
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, trackers=["identity/default", "opencv/mil"]))
        run = socket.receive_json()["run"]
        networks = {"identity/default": None, "opencv/mil": None}
        assert socket.receive_json() == {"type": "loaded", "run": run, "networks": networks}
        say = lambda **word: socket.send_text(json.dumps({"run": run, **word}))  # noqa: E731
        assert [next_frame(socket)["index"] for _ in range(2)] == [0, 1], "the third waits for the page"
        say(type="pause")
        say(type="drawn", index=1)
        say(type="stop", run="another")  # about an earlier run, too late: not heard
        say(type="step")
        assert next_frame(socket)["index"] == 2
        say(type="correct", frame=1, objects=objects([5, 6, 20, 20]))
        frame = next_frame(socket)
        assert frame["index"] == 1 and frame["corrected"], "it goes back to the frame that was drawn on"
        assert box_of(frame) == box_of(frame, 1) == [5, 6, 20, 20]
        say(type="drawn", index=1)
        say(type="step")
        frame = next_frame(socket)
        assert frame["index"] == 2 and not frame["corrected"] and box_of(frame) == [5, 6, 20, 20]
        say(type="stop")
        _, end = frames_until_end(socket)
    assert end["reason"] == "stopped" and end["frames"] == 3
    rows = server.get(f"/api/runs/{run}/boxes.csv").text.splitlines()
    assert [row.split(",")[0] + row[-2:] for row in rows[1::2]] == ["1,0", "2,1", "3,0"], "corrected rows are marked"


def next_frame(socket) -> dict:
    data = socket.receive()["bytes"]
    return strict(data[4 : 4 + int.from_bytes(data[:4], "big")])


def test_numbers_that_json_does_not_know_do_not_break_the_page(tmp_path, folder):
    """A learner that refused an update reports a loss of NaN."""

    class Odd(TrackerHandle):
        def update(self, frame):
            learner = {"loss": math.nan, "error_bound": math.inf, "updated": True}
            odd = {"score": math.nan, "learner": learner, "score_map": np.full((2, 2), np.nan)}
            return {**super().update(frame), **odd}

    server = client(tmp_path, folders=(folder,), load=lambda name: Odd(*name.split("/")))
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        run = socket.receive_json()["run"]
        frames, end = frames_until_end(socket)
    one = frames[3]["trackers"][0]["objects"][0]
    assert end["complete"] and one["score"] is None
    assert one["learner"] == {"loss": None, "error_bound": None, "updated": True}
    for address in ("", "/boxes.json"):
        strict(server.get(f"/api/runs/{run}{address}").text)


def test_two_pages_do_not_mix(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as one, server.websocket_connect(TRACK) as two:
        one.send_text(start_message(server, objects=objects([1, 1, 10, 10])))
        two.send_text(start_message(server, objects=objects([50, 50, 12, 12])))
        (frames_one, _), (frames_two, _) = frames_until_end(one), frames_until_end(two)
    assert {tuple(box_of(frame)) for frame in frames_one} == {(1, 1, 10, 10)}
    assert {tuple(box_of(frame)) for frame in frames_two} == {(50, 50, 12, 12)}


def test_a_tracker_that_fails_shows_its_error_and_the_server_lives_on(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, objects=objects([500, 500, 10, 10])))  # outside the picture
        _, end = frames_until_end(socket)
        assert end["type"] == "error" and "box" in end["message"].lower()
        socket.send_text(start_message(server))
        frames, end = frames_until_end(socket)
        assert end["type"] == "end" and len(frames) == 9


def test_a_cameras_pictures_are_tracked(tmp_path, folder):
    server = client(tmp_path)
    picture = cv2.imencode(".jpg", np.full((96, 128, 3), 90, np.uint8))[1].tobytes()
    with server.websocket_connect(TRACK) as socket:
        start = {"type": "start", "video": "camera", "frame": 0, "objects": objects([20, 15, 30, 24]),
                 "trackers": ["identity/default"]}
        socket.send_text(json.dumps(start))
        run = socket.receive_json()["run"]
        assert socket.receive_json()["type"] == "loaded"
        for index in range(5):
            socket.send_bytes(picture)
            frame = socket.receive_json()
            assert frame["index"] == index and box_of(frame) == [20, 15, 30, 24]
            socket.send_text(json.dumps({"type": "drawn", "run": run, "index": index}))
        socket.send_text(json.dumps({"type": "correct", "run": run, "frame": 4, "objects": objects([1, 2, 30, 24])}))
        assert box_of(socket.receive_json()) == [1, 2, 30, 24]
        socket.send_bytes(b"no picture")
        end = socket.receive_json()
        assert end["type"] == "end" and "JPEG" in end["reason"]
    assert server.get(f"/api/runs/{run}/frames/2").content.endswith(picture), "it can be looked at again"
    assert len(server.get(f"/api/runs/{run}/video").content) > 500


def test_sessions_are_bounded(tmp_path, folder):
    server = client(tmp_path, folders=(folder,), max_sessions=1)
    with server.websocket_connect(TRACK) as one, server.websocket_connect(TRACK) as two:
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
        ({"video": "../../secret", "trackers": ["identity/default"]}, "video"),
        ({"video": "x", "trackers": ["os/system"]}, "no tracker"),
        ({"type": "pause", "run": "x"}, "nothing is being tracked"),
        ({"video": "x", "objects": objects("all"), "trackers": ["identity/default"]}, "box"),
    ],
)
def test_wrong_messages_are_answered(tmp_path, folder, message, says):
    server = client(tmp_path, folders=(folder,))
    with server.websocket_connect(TRACK) as socket:
        start = {"type": "start", "frame": 0, "objects": objects([1, 1, 9, 9])}
        socket.send_text(json.dumps({**start, **message}))
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
    ["/api/videos/nothing", "/api/videos/nothing/frames/0.jpg", "/api/videos/nothing/thumbnail.jpg", "/api/runs/x",
     "/api/runs/x/boxes.csv", "/api/runs/x/video", "/api/runs/x/frames/0", "/static/../app.py",
     "/static/%2e%2e/app.py", "/api/videos/..%2f..%2fsecret/frames/0.jpg"],
)  # fmt: skip
def test_what_is_not_there_is_404(tmp_path, folder, address):
    answer = client(tmp_path, folders=(folder,)).get(address)
    assert answer.status_code == 404 and b"Traceback" not in answer.content


def test_uploads_that_are_being_tracked_are_not_removed(tmp_path, folder):
    server = client(tmp_path, max_uploads=1, frames_in_flight=1)
    data = (folder / "deep" / "clip.avi").read_bytes()
    server.post("/api/videos", params={"name": "a.avi"}, content=data)
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        assert socket.receive_json()["type"] == "started"
        refused = server.post("/api/videos", params={"name": "b.avi"}, content=data)
        assert refused.status_code == 507 and "no room" in refused.json()["error"]
        assert [video["title"] for video in server.get("/api/videos").json()] == ["a.avi"]


def test_a_remote_host_needs_the_flag_and_has_a_token_by_construction(tmp_path, folder):
    with pytest.raises(SettingsError, match="--allow-remote"):
        WebSettings(uploads=tmp_path, host="0.0.0.0")
    settings = WebSettings(uploads=tmp_path / "u", host="0.0.0.0", allow_remote=True, demo=False, names=("box.lan",))
    assert len(settings.token) >= 20
    server = TestClient(create_app(settings), base_url="http://box.lan:8000")
    assert server.get("/").status_code == 403
    assert server.get("/", params={"token": "wrong"}).status_code == 403
    assert server.get("/", params={"token": settings.token}).status_code == 200
    assert server.get("/api/videos").status_code == 200, "the cookie is enough from then on"
    assert server.get("/", headers={"host": "other.lan"}).status_code == 400, "only hosts it was started for"


def test_pages_of_other_sites_are_kept_out(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    data = (folder / "deep" / "clip.avi").read_bytes()
    for host in ("evil.example", "testserver", "127.0.0.1.evil.example", ""):
        assert server.get("/", headers={"host": host}).status_code == 400
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9"},
                    {"sec-fetch-site": "cross-site"}):
        answer = server.post("/api/videos", params={"name": "a.avi"}, content=data, headers=headers)
        assert answer.status_code == 403, "a page elsewhere must not fill the disk"
        with pytest.raises(WebSocketDisconnect), server.websocket_connect(TRACK, headers=headers):
            pass
    assert not list((tmp_path / "uploads").iterdir())
    own = {"origin": "http://127.0.0.1:8000"}
    assert server.post("/api/videos", params={"name": "a.avi"}, content=data, headers=own).status_code == 201


def test_answers_restrict_what_the_browser_does(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    for address in ("/", "/api/videos", "/static/main.js", "/nothing"):
        headers = server.get(address).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    page = server.get("/").text
    assert "<script>" not in page and " style=" not in page and " onclick" not in page


def test_no_message_carries_a_path_of_the_server(tmp_path, folder):
    (folder / "broken.avi").write_bytes(b"no video")
    server = client(tmp_path, folders=(folder,))
    broken = next(video for video in server.get("/api/videos").json() if video["title"] == "broken.avi")
    answer = server.get(f"/api/videos/{broken['id']}")
    assert answer.status_code == 422 and "broken.avi" in answer.text and str(tmp_path) not in answer.text
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, video=broken["id"]))
        _, end = frames_until_end(socket)
    assert "broken.avi" in end["reason"] and str(tmp_path) not in json.dumps(end)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/me/a b.txt: no", "a b.txt: no"), ("no '/srv/x/y.pth' here", "no 'y.pth' here"),
        (r"C:\Users\me\clip.mp4 is bad", "clip.mp4 is bad"), ("score 1/2 of a/b", "score 1/2 of a/b"),
        ("rls_dimp/default: x", "rls_dimp/default: x"),
    ],
)  # fmt: skip
def test_paths_are_cut_out_of_messages(text, clean):
    assert without_paths(text) == clean
