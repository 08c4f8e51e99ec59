"""Draws boxes and captions on frames and combines frames into one picture."""
from collections.abc import Sequence as Rows

import cv2
import numpy as np

# RGB; bright on dark, and distinguishable for colour-blind people.
COLOURS = {"truth": (0, 255, 150), "prediction": (255, 140, 0), "text": (255, 255, 255)}
GAP = 4  # pixels between two pictures
CAPTION_HEIGHT = 18


def draw_box(image: np.ndarray, box: np.ndarray, colour: tuple[int, int, int], thickness: int = 2) -> None:
    """Draws a box with a dark outline on an RGB image, in place; skips boxes with NaN."""
    box = np.asarray(box, dtype=np.float64)
    if np.isfinite(box).all():
        corner = np.round(box[:2]).astype(int)
        opposite = np.round(box[:2] + box[2:] - 1).astype(int)
        cv2.rectangle(image, corner.tolist(), opposite.tolist(), (0, 0, 0), thickness + 2, cv2.LINE_AA)
        cv2.rectangle(image, corner.tolist(), opposite.tolist(), colour, thickness, cv2.LINE_AA)


def captioned(image: np.ndarray, text: str, width: int) -> np.ndarray:
    """Scales an image to ``width`` and puts a line of text above it."""
    height = max(1, round(image.shape[0] * width / image.shape[1]))
    interpolation = cv2.INTER_AREA if width < image.shape[1] else cv2.INTER_LINEAR
    picture = np.zeros((height + CAPTION_HEIGHT, width, 3), np.uint8)
    picture[CAPTION_HEIGHT:] = cv2.resize(image, (width, height), interpolation=interpolation)
    cv2.putText(picture, text, (3, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.4, COLOURS["text"], 1, cv2.LINE_AA)
    return picture


def grid(rows: Rows[Rows[np.ndarray]]) -> np.ndarray:
    """Arranges pictures in rows; row heights and column widths fit their largest picture."""
    columns = max(len(row) for row in rows)
    heights = [max(picture.shape[0] for picture in row) for row in rows]
    widths = [max(row[i].shape[1] for row in rows if i < len(row)) for i in range(columns)]
    sheet = np.full((sum(heights) + GAP * (len(rows) + 1), sum(widths) + GAP * (columns + 1), 3), 40, np.uint8)
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        left = GAP
        for picture, width in zip(row, widths, strict=False):
            sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
            left += width + GAP
        top += height + GAP
    return sheet


def legend(width: int, lines: list[tuple[str, tuple[int, int, int]]]) -> np.ndarray:
    """A dark strip (h, width, 3) with lines of text in their colours (RGB), in two columns if they fit.

    It is meant to go below a picture: text on a small picture would hide the target.
    """
    size = max(0.35, width / 1400)
    step = round(30 * size)
    widest = max(cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)[0][0] for text, _ in lines)
    columns = 2 if 2 * (widest + step) <= width else 1
    rows = -(-len(lines) // columns)
    strip = np.full((step * rows + step // 2, width, 3), 24, np.uint8)
    for index, (text, colour) in enumerate(lines):
        origin = (step // 2 + width // 2 * (index % columns), step * (index // columns + 1))
        cv2.putText(strip, text, origin, cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)
    return strip
