"""Single frames of videos that nobody tracks (yet): thumbnails, the film strip, going to a frame to start at."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pytracking.video.sources import FrameSource, VideoError
from pytracking.web.library import Video

AT_ONCE = 3  # videos being decoded for previews; each takes a process
KEPT = 2  # decoders that stay open: the next frame is mostly of the same video
PATIENCE = 20.0  # seconds that a request waits for its turn


class Previews:
    """A few open videos."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._idle: dict[str, FrameSource] = {}  # by the video's id, the longest idle first
        self._lock = threading.Lock()

    def frame(self, video: Video, index: int) -> np.ndarray:
        """One frame; VideoError if there is none of this number."""
        with self.source(video) as source:
            for frame in source.frames(index):
                return frame
        raise VideoError(f"'{video.title}' has no frame {index + 1}")

    @contextmanager
    def source(self, video: Video) -> Iterator[FrameSource]:
        """The video, for this block alone."""
        if not self._turns.acquire(timeout=PATIENCE):
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
            self._turns.release()

    def forget(self, video_id: str) -> None:
        """The video is gone."""
        with self._lock:
            source = self._idle.pop(video_id, None)
        if source is not None:
            source.close()

    def close(self) -> None:
        """Ends all decoders."""
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
