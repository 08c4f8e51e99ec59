"""Frames as JPEGs."""
from __future__ import annotations

import cv2
import numpy as np

QUALITY = 80


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
