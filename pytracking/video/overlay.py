"""Draws boxes, scores and captions on frames."""
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from pytracking.utils.contact_sheet import legend

# RGB; a flag other than "normal" changes the box's colour, so that uncertainty is visible at a glance
FLAG_COLOURS = {"normal": (255, 140, 0), "hard_negative": (255, 215, 0), "uncertain": (80, 170, 255)}
LOST_COLOUR = (200, 60, 60)
# by target id: safe for colour-blind viewers (Okabe and Ito), and readable under black text
TARGET_COLOURS = (
    (255, 138, 61), (86, 180, 233), (0, 200, 140), (240, 228, 66), (230, 130, 190), (150, 150, 255), (213, 94, 0),
)  # fmt: skip
TRACKER_COLOURS = ((255, 138, 61), (86, 180, 233))  # first and second tracker, as on the page


def draw_output(frame: np.ndarray, output: dict[str, Any], caption: str = "") -> np.ndarray:
    """Returns a copy of the frame with the tracker's box and a line of text."""
    picture = frame.copy()
    flag = output.get("flag")
    _draw_box(picture, output["target_bbox"], FLAG_COLOURS.get(flag or "normal", LOST_COLOUR))
    parts = [caption] if caption else []
    if output.get("score") is not None:
        parts.append(f"score {float(output['score']):.2f}")
    if flag and flag != "normal":
        parts.append(flag.replace("_", " "))
    if parts:
        _write_line(picture, "  ".join(parts))
    return picture


def draw_targets(frame: np.ndarray, outputs: Mapping[int, dict[str, Any]], caption: str = "") -> np.ndarray:
    """Returns a copy of the frame with each target's box and id in its colour; a single one as ``draw_output`` does."""
    if list(outputs) == [1]:
        return draw_output(frame, outputs[1], caption)
    picture = frame.copy()
    scale = max(0.4, frame.shape[1] / 1200)
    for target, output in outputs.items():
        colour = target_colour(target)
        x, y = _draw_box(picture, output["target_bbox"], colour)
        label = str(target)
        if output.get("flag") not in (None, "normal"):
            label += " " + output["flag"].replace("_", " ")
        (width, height), base = cv2.getTextSize(label, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
        top = max(y - height - base - 2, 0)  # above the box, or inside if there is no room
        cv2.rectangle(picture, (x, top), (x + width + 4, top + height + base + 2), colour, cv2.FILLED)
        origin = (x + 2, top + height + 1)
        cv2.putText(picture, label, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), 1, cv2.LINE_AA)
    if caption:
        _write_line(picture, caption)
    return picture


def target_colour(target: int) -> tuple[int, int, int]:
    """Returns the RGB colour of a target id."""
    return TARGET_COLOURS[(target - 1) % len(TARGET_COLOURS)]


def _draw_box(picture: np.ndarray, box: Sequence[float], colour: tuple[int, int, int]) -> tuple[int, int]:
    """Draws x, y, w, h into the picture; returns the pixel of the top left corner."""
    x, y, w, h = (round(float(value)) for value in box)
    thickness = max(1, round(picture.shape[1] / 300))
    cv2.rectangle(picture, (x, y), (x + w, y + h), colour, thickness, cv2.LINE_AA)
    return x, y


def _write_line(picture: np.ndarray, text: str) -> None:
    scale = max(0.4, picture.shape[1] / 1200)
    (width, height), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
    strip = picture[: height + base + 8, : width + 12]
    strip[:] = (strip * 0.35).astype(np.uint8)  # darkened so that white text is readable on any background
    cv2.putText(picture, text, (6, height + 4), cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 1, cv2.LINE_AA)


def draw_boxes(frame: np.ndarray, outputs: list[tuple[str, dict[str, Any]]]) -> np.ndarray:
    """Returns a copy of the frame with the boxes of several trackers (name, output), and a legend below it."""
    picture = frame.copy()
    names = list(dict.fromkeys(name for name, _ in outputs))
    for name, output in outputs:
        _draw_box(picture, output["box"], TRACKER_COLOURS[names.index(name) % len(TRACKER_COLOURS)])
    lines = [(name, TRACKER_COLOURS[number % len(TRACKER_COLOURS)]) for number, name in enumerate(names)]
    return np.vstack([picture, legend(frame.shape[1], lines)])
