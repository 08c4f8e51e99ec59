"""The videos that can be chosen, by opaque names: no path ever comes from the page."""
from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytracking.video.sources import FolderSource, FrameSource, VideoError, open_source
from pytracking.web.settings import VIDEO_SUFFIXES, WebSettings


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
    path: Path
    kind: str  # "demo", "folder" or "upload"
    suggested_box: tuple[float, ...] | None = None  # the annotated first box, where there is one

    def open(self) -> FrameSource:
        return FolderSource(self.path) if self.path.is_dir() else open_source(str(self.path))


class VideoLibrary:
    """Demo sequences, videos below the served folders, and uploads."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._uploads: dict[str, Video] = {}
        self._lock = threading.Lock()
        settings.uploads.mkdir(parents=True, exist_ok=True)

    def list(self) -> list[Video]:
        """Everything that can be chosen now."""
        with self._lock:
            uploads = list(self._uploads.values())
        return [*uploads, *self._from_folders(), *self._from_demo()]

    def get(self, video_id: str) -> Video:
        """A video by its id.

        Raises:
            KeyError: if there is none.
        """
        for video in self.list():
            if video.id == video_id:
                return video
        raise KeyError(video_id)

    def first_frame(self, video_id: str) -> np.ndarray:
        """The picture to draw the box on."""
        with self.get(video_id).open() as source:
            for frame in source:
                return frame
        raise VideoError(f"video {video_id}: not a single frame could be read")

    async def add_upload(self, file_name: str, chunks: AsyncIterator[bytes]) -> Video:
        """Stores an upload under a name of our own, and checks that it is a video.

        Raises:
            UploadError: if it is too large, has another type, or cannot be decoded; nothing of it is kept.
        """
        title = Path(file_name.replace("\\", "/")).name[:80] or "video"
        suffix = Path(title).suffix.lower()
        if suffix not in VIDEO_SUFFIXES:
            raise UploadError(f"'{title}' is no video file; there are: {', '.join(VIDEO_SUFFIXES)}", 415)
        video_id = secrets.token_urlsafe(9)
        path = self._settings.uploads / f"{video_id}{suffix}"
        try:
            await self._store(path, chunks)
            video = Video(video_id, title, path, "upload")
            _check_decodes(video)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        with self._lock:
            self._uploads[video_id] = video
            while len(self._uploads) > self._settings.max_uploads:
                oldest = next(iter(self._uploads))
                self._uploads.pop(oldest).path.unlink(missing_ok=True)
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
    return hashlib.sha256(path.as_posix().encode()).hexdigest()[:12]


def _check_decodes(video: Video) -> None:
    try:
        with video.open() as source:
            next(iter(source))
    except (VideoError, StopIteration) as error:
        raise UploadError(f"'{video.title}' cannot be decoded as a video", 415) from error
