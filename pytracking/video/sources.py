"""Reads frames one at a time, in constant memory, from a video, a folder, a stream or a camera."""
import re
from array import array
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import cv2
import numpy as np

from ltr.errors import UserError
from pytracking.utils.image_io import IMAGE_SUFFIXES, read_image
from pytracking.utils.names import file_stem

STREAM_SCHEMES = ("rtsp", "rtsps", "rtmp", "http", "https", "udp", "tcp")
DEMO_PREFIX = "demo:"  # demo:fish is a sequence of the demo dataset
DEFAULT_FPS = 30.0  # if the source does not specify it
FRAME_FOLDERS = ("img", "imgs", "color", "frames", "images")  # in dataset sequences


class VideoError(UserError, OSError):
    """A source that cannot be opened or read further; the message names the file and the frame."""


class FrameSource(AbstractContextManager):
    """An iterator over RGB uint8 frames (h, w, 3); use as a context manager."""

    name: str  # base name of result files
    fps: float  # of the recording
    length: int | None  # number of frames; None if unknown (stream, camera)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[np.ndarray]:
        return self.frames()

    def frames(self, start: int = 0) -> Iterator[np.ndarray]:
        """Yields the frames from number ``start`` (0-based); may be called again to go elsewhere."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the file or device."""


class FolderSource(FrameSource):
    """The images of a folder in numerical order; ``name`` is the base name of result files."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        files = [path for path in folder.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES]
        if not files:
            inside = next((name for name in FRAME_FOLDERS if (folder / name).is_dir()), None)
            hint = f"; its frames are in {folder / inside}: use that folder" if inside else ""
            raise VideoError(f"folder {folder} contains no images ({', '.join(IMAGE_SUFFIXES)}){hint}")
        self._files = sorted(files, key=_by_number)
        self.name, self.fps, self.length = name or folder.resolve().name, DEFAULT_FPS, len(files)

    def frames(self, start: int = 0) -> Iterator[np.ndarray]:
        for path in self._files[start:]:
            yield read_image(path)


class CaptureSource(FrameSource):
    """A video file, stream or camera read through OpenCV; for a ``finite`` source an early end is an error."""

    def __init__(self, target: str | int, name: str, finite: bool) -> None:
        self.name = name
        self._target = target
        self._capture = cv2.VideoCapture(target)
        if not self._capture.isOpened():
            raise VideoError(f"cannot open {self._what()}: {_why_not(target)}")
        fps = self._capture.get(cv2.CAP_PROP_FPS)
        self.fps = float(fps) if 0.1 < fps < 1000.0 else DEFAULT_FPS
        count = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT)) if finite else 0
        self.length = count if count > 0 else None
        # timestamps in ms of the frames read so far, starting with frame `_first`
        self._first, self._times = 0, array("d")
        self._next = 0  # index of the frame that the capture would read next

    def frames(self, start: int = 0) -> Iterator[np.ndarray]:
        index, pending = start, self._go_to(start)
        while True:
            read, frame = pending or self._capture.read()
            pending = None
            if not read:
                break
            if index == self._first + len(self._times):
                self._times.append(self._capture.get(cv2.CAP_PROP_POS_MSEC))
            index += 1
            self._next = index
            yield cv2.cvtColor(frame, cv2.COLOR_BGR2RGB if frame.ndim == 3 else cv2.COLOR_GRAY2RGB)
        if index == 0:
            raise VideoError(f"{self._what()}: no frame could be read")
        if self.length is not None and index < self.length:
            raise VideoError(
                f"{self._what()}: frame {index + 1} of {self.length} cannot be read; the file is damaged or truncated"
            )

    def _go_to(self, index: int) -> tuple[bool, np.ndarray | None] | None:
        """Seeks to a frame, exactly if it was read before; returns it if seeking had to read it.

        OpenCV seeks by time, which is exact if all frames have the same duration. Otherwise the timestamp of the frame
        it finds differs from the recorded one, and the frames are counted instead.
        """
        if index == self._next:
            return None
        if not self._first <= index < self._first + len(self._times):
            self._capture.set(cv2.CAP_PROP_POS_FRAMES, index)
            self._first, self._times = index, array("d")
            return None
        self._capture.set(cv2.CAP_PROP_POS_FRAMES, index)
        found = self._capture.read()
        if found[0] and abs(self._capture.get(cv2.CAP_PROP_POS_MSEC) - self._times[index - self._first]) < 0.5:
            return found
        counted_from = self._first
        if not found[0]:  # OpenCV cannot seek back in a video of one frame
            self._capture.release()
            self._capture, counted_from = cv2.VideoCapture(self._target), 0
        self._capture.set(cv2.CAP_PROP_POS_FRAMES, counted_from)
        for _ in range(index - counted_from):
            self._capture.grab()
        return None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the frames according to the file."""
        get = self._capture.get
        return int(get(cv2.CAP_PROP_FRAME_WIDTH)), int(get(cv2.CAP_PROP_FRAME_HEIGHT))

    def close(self) -> None:
        self._capture.release()

    def _what(self) -> str:
        return f"camera {self._target}" if isinstance(self._target, int) else f"video {self._target}"


def open_source(text: str) -> FrameSource:
    """Opens a source given by the user: a file, a folder of frames, an address, a camera number, or ``demo:NAME``."""
    address = urlsplit(text)
    if address.scheme.lower() in STREAM_SCHEMES:
        return CaptureSource(text, name=file_stem(address.netloc + address.path) or "stream", finite=False)
    if text.startswith(DEMO_PREFIX):
        from pytracking.evaluation.datasets.demo import load  # few videos need the renderer

        (sequence,) = load(variant=text.removeprefix(DEMO_PREFIX))
        return FolderSource(Path(sequence.frames[0]).parent, sequence.name)
    path = Path(text).expanduser()
    if path.is_dir():
        return FolderSource(path)
    if path.is_file():
        return CaptureSource(str(path), name=path.stem, finite=True)
    if text.isdecimal():
        return CaptureSource(int(text), name=f"camera{text}", finite=False)
    raise VideoError(f"{text}: no such file or folder (give a video, a folder of frames or an rtsp:// address)")


def _why_not(target: str | int) -> str:
    if isinstance(target, int):
        return "there is no such camera, or another program is using it"
    if urlsplit(target).scheme.lower() in STREAM_SCHEMES:
        return "the server does not answer, or OpenCV was built without this protocol"
    return "OpenCV cannot decode it; convert it, e.g. with: ffmpeg -i INPUT -pix_fmt yuv420p OUTPUT.mp4"


def _by_number(path: Path) -> tuple:
    """Sort key that puts 9.jpg before 10.jpg."""
    parts = [part for part in re.split(r"(\d+)", path.name) if part]
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
