"""Talking to the server without a browser."""
import json
from pathlib import Path

import cv2
import numpy as np
from starlette.testclient import TestClient

from pytracking.web.app import create_app
from pytracking.web.settings import WebSettings

TRACK = "ws://127.0.0.1:8000/api/track"  # the test client sends its own host name with a bare path


def write_video(path: Path, frames: int = 9) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (128, 96))
    for index in range(frames):
        frame = np.full((96, 128, 3), 50, np.uint8)
        frame[15:39, 20 + index : 50 + index] = (30, 180, 220)
        writer.write(frame)
    writer.release()
    return path


def client(tmp_path, load=None, **options) -> TestClient:
    options = {"demo": False, **options}
    app = create_app(WebSettings(uploads=tmp_path / "uploads", **options), **({"load": load} if load else {}))
    return browse(app)


def browse(app, address: str = "http://127.0.0.1:8000", client: str = "127.0.0.1") -> TestClient:
    """A client at this address of its own, which reaches the server under another."""
    return TestClient(app, base_url=address, raise_server_exceptions=False, client=(client, 50_000))


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
