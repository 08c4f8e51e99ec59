"""Single frames of videos outside a run: thumbnails, the film strip, and choosing the frame to start at."""
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pytracking.video.sources import FrameSource, VideoError
from pytracking.web.library import Video

AT_ONCE = 3  # videos decoded at the same time, each in its own process
KEPT = 2  # idle decoders kept open, as the next frame usually comes from the same video
PATIENCE = 20.0  # seconds that a request waits for a free decoder


class Previews:
    """A pool of open videos."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._idle: dict[str, FrameSource] = {}  # by video id, the longest idle first
        self._lock = threading.Lock()

    def frame(self, video: Video, index: int) -> np.ndarray:
        """Decodes one frame; VideoError if the video has no frame of this number."""
        with self.source(video) as source:
            for frame in source.frames(index):
                return frame
        raise VideoError(f"'{video.title}' has no frame {index + 1}")

    @contextmanager
    def source(self, video: Video) -> Iterator[FrameSource]:
        """Lends the opened video exclusively to a ``with`` block."""
        if not self._slots.acquire(timeout=PATIENCE):
            raise VideoError("the server is busy with other videos; try again in a moment")
        try:
            with self._lock:
                source = self._idle.pop(video.id, None)
            source = source or video.open()
            try:
                yield source
            except BaseException:
                source.close()
                raise
            self._put_back(video.id, source)
        finally:
            self._slots.release()

    def forget(self, video_id: str) -> None:
        """Closes a video that was removed."""
        with self._lock:
            source = self._idle.pop(video_id, None)
        if source is not None:
            source.close()

    def close(self) -> None:
        """Closes all decoders."""
        for video_id in list(self._idle):
            self.forget(video_id)

    def _put_back(self, video_id: str, source: FrameSource) -> None:
        with self._lock:
            extra = [self._idle.pop(video_id)] if video_id in self._idle else []
            self._idle[video_id] = source
            while len(self._idle) > KEPT:
                extra.append(self._idle.pop(next(iter(self._idle))))
        for one in extra:
            one.close()
