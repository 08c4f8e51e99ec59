"""A sandboxed process that decodes videos: ``python -m pytracking.video.decoder``.

:mod:`pytracking.video.limited_source` starts it and talks to it over pipes. A message is the length of its head
(4 bytes), the head as JSON, and an optional picture whose size is in the head. After each frame the decoder decodes the
next one in advance, while its client works on the last.
"""
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import cv2
import numpy as np

from pytracking.video.sandbox import confine
from pytracking.video.sources import CaptureSource, VideoError

MAX_HEAD = 4096  # bytes
# video containers; no playlists, as these refer to other files and addresses
FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,avi,matroska,webm,mpeg,mpegvideo,mpegts,h264,hevc,m4v"
ENVIRONMENT = {
    "OPENCV_FFMPEG_CAPTURE_OPTIONS": f"protocol_whitelist;file|format_whitelist;{FORMATS}",
    "OPENCV_VIDEOIO_PRIORITY_LIST": "FFMPEG",
    "OPENCV_LOG_LEVEL": "SILENT",
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
}

Answer = tuple[dict[str, Any], bytes | memoryview]


def send(stream: BinaryIO, head: dict[str, Any], body: bytes | memoryview = b"") -> None:
    """Writes a message."""
    text = json.dumps({**head, "bytes": len(body)}).encode()
    stream.write(len(text).to_bytes(4, "big") + text)
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], BinaryIO]:
    """Reads a message's head and leaves its body in the stream; EOFError if the peer is gone."""
    length = int.from_bytes(exactly(stream, 4), "big")
    if length > MAX_HEAD:
        raise ValueError("the head of the message is too long")
    head = json.loads(exactly(stream, length))
    if not isinstance(head, dict) or not isinstance(head.get("bytes"), int) or head["bytes"] < 0:
        raise ValueError("this is not a message")
    return head, stream


def exactly(stream: BinaryIO, length: int) -> bytes:
    """Reads ``length`` bytes; EOFError if there are fewer."""
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the peer has closed the stream")
    return data


class Decoder:
    """Answers requests for the frames of one video, or decodes single pictures."""

    def __init__(self, max_pixels: int) -> None:
        self._max_pixels = max_pixels
        self._source: CaptureSource | None = None
        self._frames: Iterator[np.ndarray] = iter(())
        self._ahead: Answer | None = None

    def answer(self, request: dict[str, Any], body: bytes) -> Answer:
        """Returns the answer, or an error message."""
        try:
            if request["ask"] == "open":
                return self._open(request["path"])
            if request["ask"] == "picture":
                return self._frame(_picture(body))
            if request["ask"] == "frames":
                self._frames, self._ahead = self._source.frames(request["start"]), None
            answer, self._ahead = self._ahead or self._next(), None
            return answer
        except VideoError as error:
            return {"error": str(error)[:1000]}, b""
        except (MemoryError, cv2.error):
            return {"error": "the video needs more memory than a decoder may use, or is damaged"}, b""

    def look_ahead(self, request: dict[str, Any]) -> None:
        """Decodes the frame that will probably be requested next."""
        if request["ask"] in ("frames", "next"):
            self._ahead = self.answer({"ask": "next"}, b"")

    def _open(self, path: str) -> Answer:
        self._source = CaptureSource(path, name="video", finite=True)
        self._check(*self._source.size)
        return {"fps": self._source.fps, "length": self._source.length}, b""

    def _next(self) -> Answer:
        frame = next(self._frames, None)
        return ({"end": True}, b"") if frame is None else self._frame(frame)

    def _frame(self, frame: np.ndarray) -> Answer:
        height, width = frame.shape[:2]
        self._check(width, height)
        return {"width": width, "height": height}, memoryview(np.ascontiguousarray(frame)).cast("B")

    def _check(self, width: int, height: int) -> None:
        if width * height > self._max_pixels:
            raise VideoError(f"frames of {width}x{height} pixels are too large; reduce the video's resolution")


def _picture(data: bytes) -> np.ndarray:
    frame = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if frame is None:
        raise VideoError("the picture cannot be decoded")
    return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)


def main() -> None:
    """Answers requests until the client closes the pipe."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null_device = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # keeps the libraries' output out of the answers
        os.dup2(null_device, descriptor)
    os.environ.update(ENVIRONMENT)
    cv2.setNumThreads(1)
    limits, _ = receive(requests)
    confine(limits["memory"])
    decoder = Decoder(limits["max_pixels"])
    while True:
        try:
            request, stream = receive(requests)
            send(answers, *decoder.answer(request, exactly(stream, request["bytes"])))
            decoder.look_ahead(request)
        except (EOFError, BrokenPipeError):
            os._exit(0)  # skips flushing `answers`, whose reader is gone


if __name__ == "__main__":
    main()
