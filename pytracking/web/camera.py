"""Frames that a page's camera sends."""
from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytracking.video.sources import FrameSource
from pytracking.web.library import Video
from pytracking.web.messages import CAMERA
from pytracking.web.pictures import decode_jpeg

MAX_PICTURE = 4 * 2**20  # bytes
WAITING = 4  # pictures; a page waits for answers before it sends more


class CameraSource(FrameSource):
    """Pictures are put in by the page's thread and taken out by the session's."""

    name, fps, length = "camera", 30.0, None

    def __init__(self) -> None:
        self._pictures: queue.Queue[bytes | None] = queue.Queue(maxsize=WAITING)
        self._last: tuple[int, np.ndarray] | None = None
        self.picture = b""  # the last frame's JPEG, for the archive
        self._closed = False

    def put(self, picture: bytes) -> bool:
        """Takes a JPEG; False if the session has not taken the last ones yet."""
        if self._closed:
            return False
        try:
            self._pictures.put_nowait(picture)
        except queue.Full:
            return False
        return True

    def has_picture(self) -> bool:
        return self._closed or not self._pictures.empty()

    def frames(self, start: int = 0) -> Iterator[np.ndarray]:
        """Goes on with what arrives; only the last frame can be had again."""
        index = 0 if self._last is None else self._last[0] + 1
        if self._last is not None and start <= self._last[0]:
            yield self._last[1]
        while not self._closed:
            picture = self._pictures.get()
            if picture is None:
                return
            frame = decode_jpeg(picture)
            self._last, self.picture = (index, frame), picture
            yield frame
            index += 1

    def close(self) -> None:
        self._closed = True
        while True:  # the session may be waiting for a picture
            try:
                self._pictures.put_nowait(None)
                return
            except queue.Full:
                self._pictures.get_nowait()


class CameraVideo(Video):
    """A camera in the place of a video."""

    def __init__(self, source: CameraSource) -> None:
        super().__init__(CAMERA, "camera", Path("camera"), "camera")
        object.__setattr__(self, "source", source)

    def open(self) -> CameraSource:
        return self.source
