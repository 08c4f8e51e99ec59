"""Writes videos that browsers can play: H.264 if an encoder is installed, otherwise VP9 or VP8."""
from __future__ import annotations

import errno
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ltr.errors import UserError
from pytracking.utils.files import replacing

SUFFIXES = (".mp4", ".webm", ".mkv", ".avi")
H264_ENCODERS = ("libx264", "libopenh264", "h264_videotoolbox")  # PyAV's names, best first


class PyAVEncoder:
    """H.264 with PyAV (the extra ``video``)."""

    def __init__(self, path: str, fps: float, size: tuple[int, int]) -> None:
        import av

        # put the index of an MP4 at the front, so that browsers can start before they have the whole file
        options = {"movflags": "+faststart"} if path.endswith(".mp4") else {}
        self._container = av.open(path, "w", options=options)
        self._stream = self._container.add_stream(pyav_h264(), rate=Fraction(fps).limit_denominator(1001))
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"  # the only layout that all browsers decode
        self._stream.options = {"crf": "20", "preset": "veryfast"} if pyav_h264() == "libx264" else {}

    def write(self, frame: np.ndarray) -> None:
        import av

        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))

    def release(self) -> None:
        try:
            self._container.mux(self._stream.encode(None))
        finally:
            self._container.close()


class OpenCVEncoder:
    """Any codec of OpenCV's own FFmpeg, by four-character code."""

    def __init__(self, path: str, fps: float, size: tuple[int, int], code: str) -> None:
        self._path, self._frames = path, 0
        with quiet_opencv():
            self._writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*code), fps, size)
        if not self._writer.isOpened():
            raise OSError(f"OpenCV cannot write {code} here")

    def write(self, frame: np.ndarray) -> None:
        self._writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        self._frames += 1

    def release(self) -> None:
        self._writer.release()
        if self._frames and not _has_frames(self._path, self._frames):  # OpenCV does not report errors of the disk
            raise OSError(errno.EIO, "the disk did not accept the whole video")


# Frames are RGB with even width and height; release() raises an OSError if the disk did not accept everything.
Encoder = PyAVEncoder | OpenCVEncoder


def _has_frames(path: str, count: int) -> bool:
    """Whether a video has ``count`` frames: seeks the last one, and counts frames if that fails."""
    with quiet_opencv():
        video = cv2.VideoCapture(path)
        video.set(cv2.CAP_PROP_POS_FRAMES, count - 1)
        found = video.get(cv2.CAP_PROP_POS_FRAMES) == count - 1 and video.grab()
        if not found:
            video.open(path)
            found = all(video.grab() for _ in range(count))
        video.release()
    return found


@functools.cache
def pyav_h264() -> str | None:
    """Name of an available H.264 encoder of PyAV; None if PyAV or the encoder is missing."""
    try:
        from av.codec import Codec
    except ImportError:
        return None
    for name in H264_ENCODERS:
        try:
            Codec(name, "w")
        except ValueError:  # not built in
            continue
        return name
    return None


@functools.cache
def opencv_h264() -> bool:
    """Whether this OpenCV can encode H.264; PyPI's Linux builds cannot."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            encoder = OpenCVEncoder(os.path.join(folder, "probe.mp4"), 25.0, (64, 64), "avc1")
        except OSError:
            return False
        encoder.release()
    return True


def browser_suffix() -> str:
    """Suffix of the format that browsers play and that is fastest to write here."""
    return ".mp4" if pyav_h264() or opencv_h264() else ".webm"


def choose_encoder(suffix: str) -> Callable[[str, float, tuple[int, int]], Encoder]:
    """Chooses the encoder for a file with this suffix."""
    if suffix == ".avi":
        return functools.partial(OpenCVEncoder, code="MJPG")
    if suffix == ".webm":
        return functools.partial(OpenCVEncoder, code="VP80")  # eight times as fast as VP9
    if pyav_h264():
        return PyAVEncoder
    return functools.partial(OpenCVEncoder, code="avc1" if opencv_h264() else "vp09")


class VideoWriter:
    """Writes RGB frames to a video, which gets its final name when it is closed; use as a context manager."""

    def __init__(self, path: str | Path, fps: float) -> None:
        self._path, self._fps = Path(path), fps
        if self._path.suffix.lower() not in SUFFIXES:
            raise UserError(f"video {path}: the name must end in {', '.join(SUFFIXES)}")
        self._output = ExitStack()  # renames the temporary file when it is closed
        self._encoder: Encoder | None = None
        self._size = (0, 0)

    def __enter__(self) -> VideoWriter:
        self._temporary = self._output.enter_context(replacing(self._path))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        with self._output:
            if self._encoder is None:
                raise error or ValueError(f"{self._path}: no frame was written")
            # Frames written before Ctrl-C or an error are worth keeping: close and rename the video in any case.
            try:
                self._encoder.release()
            except OSError as problem:
                raise self._failure(problem) from problem

    def write(self, frame: np.ndarray) -> None:
        """Adds a frame, which must have the size of the first."""
        height, width = frame.shape[:2]
        if self._encoder is None:
            self._size = (width, height)
            make = choose_encoder(self._path.suffix.lower())
            try:
                self._encoder = make(os.fspath(self._temporary), self._fps, (width + width % 2, height + height % 2))
            except OSError as error:
                raise OSError(f"{self._path}: {error}; try a name that ends in .avi") from error
        if (width, height) != self._size:
            first = f"{self._size[0]}x{self._size[1]}"
            raise UserError(f"{self._path}: a frame of {width}x{height} after frames of {first}")
        if width % 2 or height % 2:  # H.264 halves the resolution of colours, so sizes must be even
            frame = cv2.copyMakeBorder(frame, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
        try:
            self._encoder.write(frame)
        except OSError as problem:
            raise self._failure(problem) from problem

    def _failure(self, problem: OSError) -> OSError:
        """The same error with the video's path; PyAV names the temporary file."""
        return OSError(problem.errno, problem.strerror, str(self._path))


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """Suppresses error output of OpenCV and its FFmpeg while their abilities are tested."""
    sys.stderr.flush()
    saved, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)  # they write to the file descriptor, not to sys.stderr
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(devnull)
