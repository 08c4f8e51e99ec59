"""A window that shows frames and listens to keys."""
from __future__ import annotations

import cv2
import numpy as np

ESCAPE = 27


class Window:
    """Use as a context manager; ``closed`` turns true on ESC, ``q`` or a click on the window's cross."""

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
        gone = cv2.getWindowProperty(self._title, cv2.WND_PROP_VISIBLE) < 1
        self.closed = self.closed or gone or self.key in (ESCAPE, ord("q"))
