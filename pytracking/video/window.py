"""OpenCV windows: whether one can be opened, drawing a box with the mouse, showing frames and reading keys."""
from __future__ import annotations

import os
import sys

import cv2
import numpy as np

from ltr.errors import UserError

ESCAPE = 27


class NoBoxError(UserError):
    """No box was given, so there is nothing to track."""


def has_screen() -> bool:
    """Whether windows can be opened on this machine."""
    if not hasattr(cv2, "imshow") or "GUI:                           NONE" in cv2.getBuildInformation():
        return False
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def draw_with_mouse(frame: np.ndarray, title: str = "draw a box, then press ENTER") -> list[float]:
    """Asks for a box in a window that shows the frame; NoBoxError if it is closed without one."""
    box = cv2.selectROI(title, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), showCrosshair=False)
    cv2.destroyWindow(title)
    if box[2] <= 0 or box[3] <= 0:
        raise NoBoxError("no box was drawn; draw one with the mouse and press ENTER, or give --optional_box x y w h")
    return [float(value) for value in box]


class Window:
    """A window, used as a context manager; ``closed`` becomes True on ESC, ``q`` or the window's close button."""

    def __init__(self, title: str) -> None:
        self._title = title
        self.closed = False
        self.key = -1  # the key pressed during the last show(), or -1

    def __enter__(self) -> Window:
        cv2.namedWindow(self._title, cv2.WINDOW_NORMAL | cv2.WINDOW_KEEPRATIO)
        return self

    def __exit__(self, *_: object) -> None:
        cv2.destroyAllWindows()

    def show(self, frame: np.ndarray, wait_ms: int = 1) -> None:
        """Shows an RGB frame."""
        cv2.imshow(self._title, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        self.key = cv2.waitKey(wait_ms) & 0xFF
        hidden = cv2.getWindowProperty(self._title, cv2.WND_PROP_VISIBLE) < 1
        self.closed = self.closed or hidden or self.key in (ESCAPE, ord("q"))
