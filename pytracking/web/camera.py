"""Frames sent by a page's camera."""
import queue
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytracking.video.limited_source import DecoderLimits, PictureDecoder
from pytracking.video.sources import FrameSource, VideoError
from pytracking.web.library import Video
from pytracking.web.messages import CAMERA

MAX_PICTURE = 4 * 2**20  # bytes
JPEG = b"\xff\xd8"  # the first bytes of every JPEG
WAITING = 4  # pictures in the queue; a page waits for answers before it sends more


class CameraSource(FrameSource):
    """A queue of pictures, filled by the page's thread and emptied by the session's."""

    name, fps, length = "camera", 30.0, None

    def __init__(self, limits: DecoderLimits) -> None:
        self._limits, self._decoder = limits, None
        self._pictures: queue.Queue[bytes | None] = queue.Queue(maxsize=WAITING)
        self._last: tuple[int, np.ndarray] | None = None
        self.picture = b""  # the last frame's JPEG, for the archive
        self._closed = False

    def put(self, picture: bytes) -> bool:
        """Queues a JPEG; False if the queue is full."""
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
        """Yields the pictures as they arrive; going back is possible by one frame only."""
        index = 0 if self._last is None else self._last[0] + 1
        if self._last is not None and start <= self._last[0]:
            yield self._last[1]
        self._decoder = self._decoder or PictureDecoder(self._limits)
        while not self._closed:
            picture = self._pictures.get()
            if picture is None:
                return
            if picture[:2] != JPEG:
                raise VideoError("only JPEG pictures are accepted")
            try:
                frame = self._decoder.decode(picture)
            except VideoError:
                if self._closed:  # close() has killed the decoder
                    return
                raise
            self._last, self.picture = (index, frame), picture
            yield frame
            index += 1

    def close(self) -> None:
        self._closed = True
        if self._decoder is not None:
            self._decoder.close()
        while True:  # the session may be waiting for a picture
            try:
                self._pictures.put_nowait(None)
                return
            except queue.Full:
                self._pictures.get_nowait()


class CameraVideo(Video):
    """A camera presented as a video."""

    def __init__(self, limits: DecoderLimits) -> None:
        super().__init__(CAMERA, "camera", Path("camera"), "camera", limits=limits)
        object.__setattr__(self, "source", CameraSource(limits))

    def open(self) -> CameraSource:
        return self.source
