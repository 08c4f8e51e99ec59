"""Decodes untrusted videos in a separate process with limited memory and time and without network access.

This process never parses a byte of the file. If the file crashes, blocks or takes over the decoder, the result is a
:class:`VideoError`.
"""
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.video.decoder import MAX_HEAD, receive, send
from pytracking.video.sources import DEFAULT_FPS, FrameSource, VideoError

COMMAND = (sys.executable, "-m", "pytracking.video.decoder")
# environment variables passed to the decoder, which must not see secrets
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP")


@dataclass(frozen=True, kw_only=True)
class DecoderLimits:
    """Limits of one decoder."""

    memory: int = 2**30  # bytes of address space beyond that of Python and OpenCV
    seconds: float = 30.0  # per answer; the slowest is seeking to a late frame of a video without an index
    max_pixels: int = 4096 * 2304  # per frame


class DecoderProcess:
    """Queries a decoder, and kills it when it takes too long or gives an invalid answer."""

    def __init__(self, limits: DecoderLimits, what: str) -> None:
        self._limits, self._what = limits, what
        self._lock = threading.Lock()
        environment = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        root = Path(__file__).resolve().parents[2]  # the folder that contains the package
        environment["PYTHONPATH"] = str(root)
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=root,
        )  # fmt: skip
        send(self._process.stdin, {"memory": limits.memory, "max_pixels": limits.max_pixels})

    def ask(self, ask: str, body: bytes = b"", **more: Any) -> tuple[dict[str, Any], np.ndarray | None]:
        """Returns the answer and its picture (RGB uint8), if it has one; VideoError if there is no answer."""
        with self._lock:
            timeout = threading.Timer(self._limits.seconds, self._process.kill)
            timeout.daemon = True
            timeout.start()
            try:
                send(self._process.stdin, {"ask": ask, **more}, body)
                head, frame = self._answer()
            except (OSError, EOFError, ValueError) as error:
                self._process.kill()
                reason = "its decoder crashed; the file is damaged or malicious"
                if not timeout.is_alive():
                    reason = f"decoding took longer than {self._limits.seconds:g} s and was stopped"
                raise VideoError(f"{self._what}: {reason}") from error
            finally:
                timeout.cancel()
        if "error" in head:
            raise VideoError(str(head["error"]))
        return head, frame

    def _answer(self) -> tuple[dict[str, Any], np.ndarray | None]:
        head, stream = receive(self._process.stdout)
        if not head["bytes"]:
            return head, None
        width, height = head.get("width"), head.get("height")
        if not isinstance(width, int) or not isinstance(height, int) or width < 1 or height < 1:
            raise ValueError("a picture without a size")
        if width * height > self._limits.max_pixels or head["bytes"] != 3 * width * height:
            raise ValueError("a picture whose size contradicts its head")
        frame = np.empty((height, width, 3), np.uint8)
        unread = memoryview(frame).cast("B")
        while unread:
            count = stream.readinto(unread)
            if not count:
                raise EOFError("the decoder has ended")
            unread = unread[count:]
        return head, frame

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()


class LimitedSource(FrameSource):
    """A video file read through a :class:`DecoderProcess`."""

    def __init__(self, path: Path, limits: DecoderLimits) -> None:
        if len(os.fsencode(path)) > MAX_HEAD // 2:
            raise VideoError("the file name is too long")
        self.name = path.stem
        self._decoder = DecoderProcess(limits, f"video {path}")
        try:
            about, _ = self._decoder.ask("open", path=str(path.resolve()))
        except BaseException:
            self._decoder.close()
            raise
        fps, length = about.get("fps"), about.get("length")
        self.fps = float(fps) if isinstance(fps, (int, float)) and 0.1 < fps < 1000.0 else DEFAULT_FPS
        self.length = length if isinstance(length, int) and 0 < length < 2**31 else None

    def frames(self, start: int = 0) -> Iterator[np.ndarray]:
        _, frame = self._decoder.ask("frames", start=start)
        while frame is not None:
            yield frame
            _, frame = self._decoder.ask("next")

    def close(self) -> None:
        self._decoder.close()


class PictureDecoder(DecoderProcess, contextlib.AbstractContextManager):
    """Decodes single JPEGs; use as a context manager."""

    def __init__(self, limits: DecoderLimits) -> None:
        super().__init__(limits, "camera")

    def __exit__(self, *_: object) -> None:
        self.close()

    def decode(self, data: bytes) -> np.ndarray:
        """Decodes a picture to RGB uint8 (h, w, 3); VideoError if it cannot be decoded."""
        _, frame = self.ask("picture", body=data)
        if frame is None:
            raise VideoError("the picture cannot be decoded")
        return frame
