"""The server's answers to a page that behaves."""
import json
import math

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from tests.web.client import TRACK, box_of, client, frames_until_end, objects, start_message, strict  # noqa: E402


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
    assert rows[0].startswith("frame,tracker,id,x,y,w,h") and len(rows) == 10
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
        assert frame["index"] == 1 and frame["corrected"] == [1], "it goes back to the frame that was drawn on"
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


class Counting(TrackerHandle):
    """Moves its box by one pixel per frame, and notes which frames (by their brightest place) it was given."""

    seen: list[tuple[str, int]] = []

    def init(self, frame, box):
        self.box = list(box)
        Counting.seen.append(("init", index_of(frame)))
        return {"target_bbox": list(box)}

    def update(self, frame):
        self.box[0] += 1
        Counting.seen.append(("update", index_of(frame)))
        return {"target_bbox": list(self.box), "score": 0.5, "learner": {"rank": self.box[0]}}


def index_of(frame: np.ndarray) -> int:
    return int(np.argmax(frame[27, :, 0] > 100)) - 20  # where the target of write_video starts


def test_targets_come_and_go_and_only_the_corrected_one_is_tracked_again(tmp_path, folder):
    Counting.seen = []
    server = client(tmp_path, folders=(folder,), load=lambda name: Counting("identity", "default"), frames_in_flight=7)
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        run = socket.receive_json()["run"]
        assert socket.receive_json()["type"] == "loaded"
        say = lambda **word: socket.send_text(json.dumps({"run": run, **word}))  # noqa: E731
        # No frame is acknowledged, so it waits after the seventh.
        assert [next_frame(socket)["index"] for _ in range(7)] == list(range(7))
        say(type="correct", frame=3, objects=[{"id": 2, "box": [60, 50, 20, 20]}])
        frame, *later = [next_frame(socket) for _ in range(4)]
        assert frame["index"] == 3 and [one["index"] for one in later] == [4, 5, 6]
        assert frame["corrected"] == [] and boxes_by_id(frame) == {1: [23, 15, 30, 24], 2: [60, 50, 20, 20]}
        say(type="correct", frame=5, objects=[{"id": 2, "box": [80, 50, 20, 20]}], removed=[7])
        frames, end = frames_until_end(socket)
        assert end["complete"]
    assert boxes_by_id(frames[-1]) == {1: [28, 15, 30, 24], 2: [83, 50, 20, 20]}
    inits = [index for kind, index in Counting.seen if kind == "init"]
    assert inits == [0, 3, 5]
    rows = [row.split(",") for row in server.get(f"/api/runs/{run}/boxes.csv").text.splitlines()[1:]]
    assert [int(row[0]) for row in rows if row[2] == "2"] == list(range(4, 10)), "it starts in the fourth frame"
    assert [(row[0], row[2]) for row in rows if row[-1] == "1"] == [("6", "2")]
    first = [float(row[3]) for row in rows if row[2] == "1"]
    assert first == [20 + i for i in range(9)], "the first target knows nothing of the corrections"
    mot = server.get(f"/api/runs/{run}/mot.txt", params={"tracker": "identity/default"}).text.splitlines()
    assert mot[4] == "4,2,60.0,50.0,20.0,20.0,1,-1,-1,-1"
    summary = strict(server.get(f"/api/runs/{run}").text)
    assert summary["corrected"] == [[5, 2]] and summary["rows"][:5] == [0, 1, 2, 3, 5]
    assert server.get(f"/api/runs/{run}/video").status_code == 200


def boxes_by_id(frame: dict) -> dict[int, list[float]]:
    return {one["id"]: one["box"] for one in frame["trackers"][0]["objects"]}


def test_a_target_is_removed_but_never_the_last(tmp_path, folder):
    server = client(tmp_path, folders=(folder,), frames_in_flight=2)
    two = [{"id": 1, "box": [20, 15, 30, 24]}, {"id": 2, "box": [60, 50, 20, 20]}]
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, objects=two, trackers=["identity/default", "opencv/mil"]))
        run = socket.receive_json()["run"]
        assert socket.receive_json()["type"] == "loaded"
        assert [sorted(boxes_by_id(next_frame(socket))) for _ in range(2)] == [[1, 2], [1, 2]]
        socket.send_text(json.dumps({"type": "correct", "run": run, "frame": 1, "removed": [1, 2]}))
        socket.send_text(json.dumps({"type": "correct", "run": run, "frame": 1, "removed": [1]}))
        frame = next_frame(socket)
        assert frame["index"] == 1 and boxes_by_id(frame) == {2: [60, 50, 20, 20]}
        socket.send_text(json.dumps({"type": "drawn", "run": run, "index": 1}))
        frames, _ = frames_until_end(socket)
    assert [[one["id"] for one in tracker["objects"]] for tracker in frames[-1]["trackers"]] == [[2], [2]]
