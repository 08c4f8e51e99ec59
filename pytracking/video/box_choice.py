"""Where the first box comes from: given, drawn with the mouse, or asked for in the browser."""
from __future__ import annotations

import os
import sys

import cv2
import numpy as np

from ltr.errors import UserError


class NoBoxError(UserError):
    """Nobody could say what to track."""


def has_screen() -> bool:
    """Whether windows can be opened here."""
    if not hasattr(cv2, "imshow") or "GUI:                           NONE" in cv2.getBuildInformation():
        return False
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def draw_with_mouse(frame: np.ndarray, title: str = "draw a box, then press ENTER") -> list[float]:
    """Opens a window on the first frame; NoBoxError if it was closed without a box."""
    box = cv2.selectROI(title, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), showCrosshair=False)
    cv2.destroyWindow(title)
    if box[2] <= 0 or box[3] <= 0:
        raise NoBoxError("no box was drawn; draw one with the mouse and press ENTER, or give --optional_box x y w h")
    return [float(value) for value in box]
