"""Reads image files of any format as RGB uint8, and writes images atomically.

JPEG files are decoded by ``simplejpeg`` (libjpeg-turbo) if it is installed, as it is faster than OpenCV
(``benchmarks/jpeg_decoders.py``). OpenCV decodes other formats, and JPEG files that ``simplejpeg`` rejects.
"""
import os
from pathlib import Path

import cv2
import numpy as np

from ltr.errors import UserError
from pytracking.utils.files import replacing

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

PAGE_QUALITY = 80  # of JPEGs in web pages
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")


class ImageReadError(UserError, OSError):
    """An image file that cannot be used; the message names it."""


def read_image(path: str | Path) -> np.ndarray:
    """Reads an image as RGB uint8 (h, w, 3); ImageReadError if it is missing, truncated or not an image.

    Grey images are repeated in three channels, 16-bit images keep their upper byte, alpha channels are dropped. A JPEG
    file's EXIF orientation is ignored.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImageReadError(f"cannot read image {path}: {error.strerror or error}") from error
    return decode_image(data, str(path))


def decode_image(data: bytes, name: str) -> np.ndarray:
    """Decodes an image file's content; ``name`` identifies it in error messages."""
    if not data:
        raise ImageReadError(f"cannot read image {name}: the file is empty")
    if data[:2] == b"\xff\xd8":
        return _decode_jpeg(data, name)
    if data[:8] == b"\x89PNG\r\n\x1a\n" and b"IEND" not in data:
        raise ImageReadError(f"cannot read image {name}: the PNG file is truncated")
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise ImageReadError(f"cannot read image {name}: not an image, or damaged")
    return _as_rgb_uint8(image, name)


def _decode_jpeg(data: bytes, name: str) -> np.ndarray:
    # Some decoders fill the missing part of a truncated file with grey and report success. The end marker must come
    # after the last start of a scan; an earlier one belongs to an embedded thumbnail.
    if data.rfind(b"\xff\xd9") <= data.rfind(b"\xff\xda"):
        raise ImageReadError(f"cannot read image {name}: the JPEG file is truncated (no end marker)")
    if simplejpeg is not None:
        try:
            return simplejpeg.decode_jpeg(data, colorspace="RGB")
        except ValueError:
            pass  # e.g. CMYK, which OpenCV can convert
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ImageReadError(f"cannot read image {name}: the JPEG data is damaged")
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def _as_rgb_uint8(image: np.ndarray, name: str) -> np.ndarray:
    if image.dtype == np.uint16:
        image = (image >> 8).astype(np.uint8)
    if image.dtype != np.uint8:
        raise ImageReadError(f"cannot use image {name}: pixels are {image.dtype}, expected 8 or 16 bits per channel")
    if image.ndim == 2:
        return cv2.cvtColor(image, cv2.COLOR_GRAY2RGB)
    conversion = {3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGB}.get(image.shape[2])
    if conversion is None:
        raise ImageReadError(f"cannot use image {name}: {image.shape[2]} channels, expected 1, 3 or 4")
    return cv2.cvtColor(image, conversion)


def encode_jpeg(frame: np.ndarray, most_width: int | None = None) -> bytes:
    """Encodes an RGB frame as JPEG for a web page, shrunk to at most ``most_width``."""
    height, width = frame.shape[:2]
    if most_width and width > most_width:
        size = (most_width, max(1, round(height * most_width / width)))
        frame = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
    quality = [cv2.IMWRITE_JPEG_QUALITY, PAGE_QUALITY]
    done, data = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), quality)
    if not done:
        raise OSError("a frame could not be encoded as JPEG")
    return data.tobytes()


def write_image(path: str | Path, image: np.ndarray, *, jpeg_quality: int = 95) -> None:
    """Writes an RGB uint8 image atomically, in the format given by the suffix of ``path``."""
    with replacing(path) as temporary:
        options = [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality] if temporary.suffix in (".jpg", ".jpeg") else []
        if not cv2.imwrite(os.fspath(temporary), cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options):
            raise OSError(f"cannot write image {path}")
