"""JPEGs in and out."""
from __future__ import annotations

import cv2
import numpy as np

QUALITY = 80
MAX_PIXELS = 4096 * 2160  # of a picture that a page sends


class PictureError(ValueError):
    """Bytes that are no picture we take."""


def encode_jpeg(frame: np.ndarray, most_width: int | None = None) -> bytes:
    """An RGB frame as JPEG, made smaller where it is wider than asked for."""
    height, width = frame.shape[:2]
    if most_width and width > most_width:
        size = (most_width, max(1, round(height * most_width / width)))
        frame = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
    done, data = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not done:
        raise OSError("a frame could not be encoded as JPEG")
    return data.tobytes()


def decode_jpeg(data: bytes) -> np.ndarray:
    """A JPEG as RGB uint8 (h, w, 3); its size is read before anything is allocated for it.

    Raises:
        PictureError: if it is none, or too large.
    """
    width, height = jpeg_size(data)
    if width * height > MAX_PIXELS:
        raise PictureError(f"a picture of {width}x{height} is too large")
    frame = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if frame is None:
        raise PictureError("the picture cannot be decoded")
    return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height from a JPEG's header."""
    place = 2
    while data[:2] == b"\xff\xd8" and place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame header, not a table
            height, width = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    raise PictureError("only JPEG pictures are taken")
