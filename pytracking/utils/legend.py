"""A strip of text to put below a picture."""
from __future__ import annotations

import cv2
import numpy as np

Colour = tuple[int, int, int]  # RGB


def legend(width: int, lines: list[tuple[str, Colour]]) -> np.ndarray:
    """A dark strip (h, width, 3) with the lines, two side by side where they fit.

    It goes below the picture: text on a small picture would hide the target.
    """
    size = max(0.35, width / 1400)
    step = round(30 * size)
    widest = max(cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)[0][0] for text, _ in lines)
    columns = 2 if 2 * (widest + step) <= width else 1
    rows = -(-len(lines) // columns)
    strip = np.full((step * rows + step // 2, width, 3), 24, np.uint8)
    for place, (text, colour) in enumerate(lines):
        spot = (step // 2 + width // 2 * (place % columns), step * (place // columns + 1))
        cv2.putText(strip, text, spot, cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)
    return strip
