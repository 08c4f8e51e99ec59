"""The videos that can be chosen, by opaque names: no path ever comes from the page."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytracking.video.limited_source import DecoderLimits, LimitedSource
from pytracking.video.sources import FolderSource, FrameSource
from pytracking.web.settings import VIDEO_SUFFIXES, WebSettings
from pytracking.web.uploads import Upload, UploadStore


@dataclass(frozen=True)
class Video:
    """One entry of the list."""

    id: str
    title: str
    path: Path = field(repr=False)
    kind: str  # "demo", "folder", "upload" or "camera"
    suggested_box: tuple[float, ...] | None = None  # the annotated first box, where there is one
    limits: DecoderLimits = field(default=DecoderLimits(), repr=False)

    def open(self) -> FrameSource:
        """Its frames; a file is decoded in a process that can do no harm, the demo's pictures are our own."""
        return FolderSource(self.path) if self.path.is_dir() else LimitedSource(self.path, self.limits)

    def public(self) -> dict[str, Any]:
        """What the page may know."""
        return {"id": self.id, "title": self.title, "kind": self.kind, "suggested_box": self.suggested_box}


class VideoLibrary:
    """Demo sequences, videos below the served folders, and uploads."""

    def __init__(self, settings: WebSettings, uploads: UploadStore) -> None:
        self._settings, self._uploads = settings, uploads
        self._known: dict[str, Video] = {}  # as last listed: looking through large folders takes time

    def list(self) -> list[Video]:
        """Everything that can be chosen now."""
        uploads = [self.uploaded(upload) for upload in self._uploads.complete()]
        found = [*uploads, *self._from_folders(), *self._from_demo()]
        self._known = {video.id: video for video in found}
        return found

    def get(self, video_id: str) -> Video:
        """A video by its id; KeyError if there is none."""
        video = self._known.get(video_id)
        if video is None or not video.path.exists():
            video = next((one for one in self.list() if one.id == video_id), None)
        if video is None:
            raise KeyError(video_id)
        self._uploads.touch(video_id)
        return video

    def uploaded(self, upload: Upload) -> Video:
        """An upload as a video, whether it is one or not."""
        return Video(upload.id, upload.title, upload.path, "upload", limits=self._settings.decoder)

    def _from_folders(self) -> list[Video]:
        found = []
        for folder in self._settings.folders:
            root = folder.resolve()
            for path in sorted(root.rglob("*")):
                # a link may point outside the folder: only what really lies below it is served
                if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file() and path.resolve().is_relative_to(root):
                    title = path.relative_to(root).as_posix()
                    found.append(Video(_stable_id(path), title, path, "folder", limits=self._settings.decoder))
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
