"""The box, the score and the speed, drawn on a frame; and videos of such frames."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pytracking.utils.files import replacing

# RGB; a flag other than "normal" changes the box's colour, so that doubt is seen without reading
FLAG_COLOURS = {"normal": (255, 140, 0), "hard_negative": (255, 215, 0), "uncertain": (80, 170, 255)}
LOST_COLOUR = (200, 60, 60)
CODECS = {".mp4": "mp4v", ".avi": "MJPG", ".mkv": "mp4v"}


def draw_output(frame: np.ndarray, output: dict[str, Any], caption: str = "") -> np.ndarray:
    """A copy of the frame with the tracker's box and a line of text."""
    picture = frame.copy()
    flag = output.get("flag")
    colour = FLAG_COLOURS.get(flag or "normal", LOST_COLOUR)
    x, y, w, h = (round(float(value)) for value in output["target_bbox"])
    thickness = max(1, round(frame.shape[1] / 300))
    cv2.rectangle(picture, (x, y), (x + w, y + h), colour, thickness, cv2.LINE_AA)
    parts = [caption] if caption else []
    if output.get("score") is not None:
        parts.append(f"score {float(output['score']):.2f}")
    if flag and flag != "normal":
        parts.append(flag.replace("_", " "))
    if parts:
        _write_line(picture, "  ".join(parts))
    return picture


def _write_line(picture: np.ndarray, text: str) -> None:
    scale = max(0.4, picture.shape[1] / 1200)
    (width, height), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
    strip = picture[: height + base + 8, : width + 12]
    strip[:] = (strip * 0.35).astype(np.uint8)  # dark, so that white text can be read on any background
    cv2.putText(picture, text, (6, height + 4), cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 1, cv2.LINE_AA)


class VideoWriter:
    """Writes RGB frames to a video that appears under its name when it is closed; use as a context manager."""

    def __init__(self, path: str | Path, fps: float) -> None:
        self._path, self._fps = Path(path), fps
        if self._path.suffix.lower() not in CODECS:
            raise ValueError(f"--save {path}: the name must end in {', '.join(CODECS)}")
        self._replacing = replacing(self._path)
        self._writer: cv2.VideoWriter | None = None

    def __enter__(self) -> VideoWriter:
        self._temporary = self._replacing.__enter__()
        return self

    def __exit__(self, kind, error, trace) -> None:
        if self._writer is not None:
            self._writer.release()
        if self._writer is None and kind is None:
            kind, error = ValueError, ValueError(f"{self._path}: no frame was written")
            self._replacing.__exit__(kind, error, None)
            return
        # What was tracked until Ctrl-C or an error is worth keeping: the video is renamed all the same.
        self._replacing.__exit__(None if self._writer is not None else kind, error, trace)

    def write(self, frame: np.ndarray) -> None:
        """Adds a frame; all must have the size of the first."""
        height, width = frame.shape[:2]
        if self._writer is None:
            codec = cv2.VideoWriter_fourcc(*CODECS[self._path.suffix.lower()])
            self._writer = cv2.VideoWriter(os.fspath(self._temporary), codec, self._fps, (width, height))
            if not self._writer.isOpened():
                raise OSError(f"{self._path}: OpenCV cannot write such a video here; try a name that ends in .avi")
        self._writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
