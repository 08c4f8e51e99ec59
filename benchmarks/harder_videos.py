"""Harder versions of a video with masks, with difficulties of real sequences that ten well-filmed videos lack.

Each function takes the frames (list of RGB arrays), masks (list of bool arrays) and boxes (frames, 4) of one run and
returns new ones. Nothing is random, so every tracker sees the same.
"""
from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

Video = tuple[list[np.ndarray], list[np.ndarray], np.ndarray]


def plain(frames: list[np.ndarray], masks: list[np.ndarray], boxes: np.ndarray) -> Video:
    """The unchanged video."""
    return frames, masks, boxes


def fast(frames: list[np.ndarray], masks: list[np.ndarray], boxes: np.ndarray) -> Video:
    """Every third frame."""
    return frames[::3], masks[::3], boxes[::3]


def small(frames: list[np.ndarray], masks: list[np.ndarray], boxes: np.ndarray) -> Video:
    """A target of about 25 pixels, in every second frame."""
    part = float(np.clip(25 / np.sqrt(np.nanmedian(boxes[:, 2] * boxes[:, 3])), 0.1, 1))
    shrunk = [cv2.resize(frame, None, fx=part, fy=part, interpolation=cv2.INTER_AREA) for frame in frames[::2]]
    return shrunk, masks[::2], boxes[::2] * part


def covered(frames: list[np.ndarray], masks: list[np.ndarray], boxes: np.ndarray) -> Video:
    """A pole passes in front of the target after one third and after two thirds of the run."""
    drawn = [frame.copy() for frame in frames]
    height, width = frames[0].shape[:2]
    for number, middle in enumerate((len(frames) // 3, 2 * len(frames) // 3)):
        texture = _background(frames[middle], masks[middle])
        for t in range(max(middle - 14, 1), min(middle + 15, len(frames))):
            if not np.isfinite(boxes[t]).all():
                continue
            x, _, w, _ = boxes[t]
            across = max(0.8 * w, 12)
            path = (t - middle) / 14 * (1 if number == 0 else -1)
            centre = x + w / 2 + path * (0.9 * w + across)
            left, right = (int(np.clip(centre + sign * across / 2, 0, width)) for sign in (-1, 1))
            if right - left > 1:
                drawn[t][:, left:right] = cv2.resize(texture, (right - left, height))
    return drawn, masks, boxes


def look_alike(frames: list[np.ndarray], masks: list[np.ndarray], boxes: np.ndarray) -> Video:
    """A mirrored copy of the target, as it looked twelve frames earlier, passes behind the target twice."""
    drawn = [frame.copy() for frame in frames]
    for number, middle in enumerate((len(frames) // 3, 2 * len(frames) // 3)):
        for t in range(max(middle - 16, 12), min(middle + 17, len(frames))):
            earlier = t - 12
            if not (np.isfinite(boxes[t]).all() and np.isfinite(boxes[earlier]).all()):
                continue
            path = (t - middle) / 16 * (1 if number == 0 else -1)
            centre = boxes[t, 0] + boxes[t, 2] / 2 + path * 2.2 * boxes[t, 2]
            _paste_behind(drawn[t], masks[t], frames[earlier], masks[earlier], boxes[earlier], centre, boxes[t])
    return drawn, masks, boxes


KINDS: dict[str, Callable[..., Video]] = {f.__name__: f for f in (plain, fast, small, covered, look_alike)}


def _background(frame: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A narrow vertical strip of the frame without the target, as the texture of a pole."""
    height, width = mask.shape
    piece = max(width // 16, 8)
    free = [left for left in range(0, width - piece, piece) if not mask[:, left : left + piece].any()]
    left = free[len(free) // 2] if free else 0
    return np.ascontiguousarray(frame[:, left : left + piece])


def _paste_behind(
    frame: np.ndarray,
    mask: np.ndarray,
    other: np.ndarray,
    other_mask: np.ndarray,
    other_box: np.ndarray,
    centre_x: float,
    box: np.ndarray,
) -> None:
    """Pastes another frame's object, mirrored, at ``centre_x`` with its foot at the box's, behind the target."""
    x, y, w, h = other_box.round().astype(int)
    cut, shape = other[y : y + h, x : x + w][:, ::-1], other_mask[y : y + h, x : x + w][:, ::-1]
    left, top = round(centre_x - w / 2), round(box[1] + box[3] - h)
    y0, y1 = max(top, 0), min(top + h, frame.shape[0])
    x0, x1 = max(left, 0), min(left + w, frame.shape[1])
    if y1 <= y0 or x1 <= x0:
        return
    inner = np.s_[y0 - top : y1 - top, x0 - left : x1 - left]
    shown = shape[inner] & ~mask[y0:y1, x0:x1]
    frame[y0:y1, x0:x1][shown] = cut[inner][shown]
