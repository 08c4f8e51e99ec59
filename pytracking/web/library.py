"""The videos that can be chosen, by opaque ids: the page never sends a path."""
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
    """A video on offer."""

    id: str
    title: str
    path: Path = field(repr=False)
    kind: str  # "demo", "folder", "upload" or "camera"
    suggested_box: tuple[float, ...] | None = None  # the annotated first box, if there is one
    limits: DecoderLimits = field(default=DecoderLimits(), repr=False)

    def open(self) -> FrameSource:
        """Opens the video; a file is decoded in a sandboxed process, the demo's images are trusted."""
        return FolderSource(self.path) if self.path.is_dir() else LimitedSource(self.path, self.limits)

    def public(self) -> dict[str, Any]:
        """Returns what the page may know."""
        return {"id": self.id, "title": self.title, "kind": self.kind, "suggested_box": self.suggested_box}


class VideoLibrary:
    """Demo sequences, videos below the served folders, and uploads."""

    def __init__(self, settings: WebSettings, uploads: UploadStore) -> None:
        self._settings, self._uploads = settings, uploads
        self._known: dict[str, Video] = {}  # as last listed, because searching large folders takes time

    def list(self) -> list[Video]:
        """Lists everything that can be chosen now."""
        uploads = [self.uploaded(upload) for upload in self._uploads.complete()]
        found = [*uploads, *self._from_folders(), *self._from_demo()]
        self._known = {video.id: video for video in found}
        return found

    def get(self, video_id: str) -> Video:
        """Returns a video by id; KeyError if there is none."""
        video = self._known.get(video_id)
        if video is None or not video.path.exists():
            video = next((one for one in self.list() if one.id == video_id), None)
        if video is None:
            raise KeyError(video_id)
        self._uploads.touch(video_id)
        return video

    def uploaded(self, upload: Upload) -> Video:
        """Presents an upload as a video, without checking that it is one."""
        return Video(upload.id, upload.title, upload.path, "upload", limits=self._settings.decoder)

    def _from_folders(self) -> list[Video]:
        found = []
        for folder in self._settings.folders:
            root = folder.resolve()
            for path in sorted(root.rglob("*")):
                # resolved, because a link may point outside the folder
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
    """Returns an id that survives a restart, so that links and open pages stay valid."""
    return hashlib.sha256(path.as_posix().encode()).hexdigest()[:12]
