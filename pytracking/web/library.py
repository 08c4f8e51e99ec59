"""The videos that can be chosen, by opaque names: no path ever comes from the page."""
from __future__ import annotations

import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.video.sources import FolderSource, FrameSource, VideoError, open_source
from pytracking.web.pictures import encode_jpeg
from pytracking.web.settings import VIDEO_SUFFIXES, WebSettings

THUMBNAIL_WIDTH = 240  # pixels


class UploadError(ValueError):
    """An upload that is refused; the message says why. ``status`` is the HTTP answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Video:
    """One entry of the list."""

    id: str
    title: str
    path: Path = field(repr=False)
    kind: str  # "demo", "folder", "upload" or "camera"
    suggested_box: tuple[float, ...] | None = None  # the annotated first box, where there is one

    def open(self) -> FrameSource:
        return FolderSource(self.path) if self.path.is_dir() else open_source(str(self.path))

    def frame(self, index: int) -> np.ndarray:
        """One frame.

        Raises:
            VideoError: if there is none of this number.
        """
        with self.open() as source:
            for frame in source.frames(index):
                return frame
        raise VideoError(f"'{self.title}' has no frame {index + 1}")

    def public(self) -> dict[str, Any]:
        """What the page may know."""
        return {"id": self.id, "title": self.title, "kind": self.kind, "suggested_box": self.suggested_box}


class VideoLibrary:
    """Demo sequences, videos below the served folders, and uploads."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._uploads: dict[str, Video] = {}
        self._known: dict[str, Video] = {}  # as last listed: looking through large folders takes time
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()
        settings.uploads.mkdir(parents=True, exist_ok=True)
        self.thumbnail = lru_cache(maxsize=256)(self._thumbnail)  # 256 x some 10 KB

    def list(self) -> list[Video]:
        """Everything that can be chosen now."""
        with self._lock:
            uploads = list(self._uploads.values())
        found = [*uploads, *self._from_folders(), *self._from_demo()]
        self._known = {video.id: video for video in found}
        return found

    def get(self, video_id: str) -> Video:
        """A video by its id.

        Raises:
            KeyError: if there is none.
        """
        video = self._known.get(video_id)
        if video is None or not video.path.exists():
            video = next((one for one in self.list() if one.id == video_id), None)
        if video is None:
            raise KeyError(video_id)
        return video

    @contextmanager
    def using(self, video: Video) -> Iterator[Video]:
        """While the block lasts, the video is not removed to make room for another."""
        with self._lock:
            self._in_use[video.id] += 1
        try:
            yield video
        finally:
            with self._lock:
                self._in_use[video.id] -= 1

    def _thumbnail(self, video_id: str) -> bytes:
        return encode_jpeg(self.get(video_id).frame(0), THUMBNAIL_WIDTH)

    async def add_upload(self, file_name: str, chunks: AsyncIterator[bytes]) -> Video:
        """Stores an upload under a name of our own, and checks that it is a video.

        Raises:
            UploadError: if it is too large, has another type, or cannot be decoded; nothing of it is kept.
        """
        title = Path(file_name.replace("\\", "/")).name[:80] or "video"
        suffix = Path(title).suffix.lower()
        if suffix not in VIDEO_SUFFIXES:
            raise UploadError(f"'{title}' is not a video file ({', '.join(VIDEO_SUFFIXES)})", 415)
        video_id = secrets.token_urlsafe(9)
        path = self._settings.uploads / f"{video_id}{suffix}"
        try:
            await self._store(path, chunks)
            video = Video(video_id, title, path, "upload")
            _check_decodes(video)
            self._make_room(path.stat().st_size)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        with self._lock:
            self._uploads[video_id] = self._known[video_id] = video
        return video

    async def _store(self, path: Path, chunks: AsyncIterator[bytes]) -> None:
        size = 0
        with open(path, "wb") as stream:
            async for chunk in chunks:
                size += len(chunk)
                if size > self._settings.max_upload_bytes:
                    limit = self._settings.max_upload_bytes / 2**20
                    raise UploadError(f"the file is larger than {limit:.0f} MiB", 413)
                stream.write(chunk)
        if size == 0:
            raise UploadError("the file is empty")

    def _make_room(self, size: int) -> None:
        """Removes the oldest uploads that nobody tracks, until one more of this size fits."""
        with self._lock:
            sizes = {key: video.path.stat().st_size for key, video in self._uploads.items() if video.path.exists()}
            for key in list(self._uploads):
                total = sum(sizes.values()) + size
                if len(self._uploads) < self._settings.max_uploads and total <= self._settings.max_upload_total:
                    return
                if not self._in_use[key]:
                    self._uploads.pop(key).path.unlink(missing_ok=True)
                    self._known.pop(key, None)
                    sizes.pop(key, None)
            total = sum(sizes.values()) + size
            if len(self._uploads) >= self._settings.max_uploads or total > self._settings.max_upload_total:
                raise UploadError("the server has no room for more uploads; all that it holds are being tracked", 507)

    def _from_folders(self) -> list[Video]:
        found = []
        for folder in self._settings.folders:
            root = folder.resolve()
            for path in sorted(root.rglob("*")):
                # a link may point outside the folder: only what really lies below it is served
                if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file() and path.resolve().is_relative_to(root):
                    title = path.relative_to(root).as_posix()
                    found.append(Video(_stable_id(path), title, path, "folder"))
        return found

    def _from_demo(self) -> list[Video]:
        if not self._settings.demo:
            return []
        from pytracking.evaluation import get_dataset

        return [
            Video(
                _stable_id(Path("demo") / sequence.name),
                f"demo: {sequence.name}",
                Path(sequence.frames[0]).parent,
                "demo",
                tuple(float(value) for value in sequence.ground_truth_rect[0]),
            )
            for sequence in get_dataset("demo")
        ]


def _stable_id(path: Path) -> str:
    """The same after a restart, so that links and open pages stay good."""
    return hashlib.sha256(path.as_posix().encode()).hexdigest()[:12]


def _check_decodes(video: Video) -> None:
    try:
        video.frame(0)
    except VideoError as error:
        raise UploadError(f"'{video.title}' cannot be decoded as a video", 415) from error
