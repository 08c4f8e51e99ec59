"""Compares libraries that decode a 1280x720 JPEG frame: times and ratios to OpenCV, measured in one run.

    python benchmarks/jpeg_decoders.py [FRAME.jpg]

Without a file, a frame of the demo dataset is enlarged and encoded at quality 90. Decoders that are not installed are
listed as such; each result is compared with OpenCV's pixels. One thread, from bytes in memory to an RGB array.
"""
from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from pytracking.demo.scenarios import SCENARIOS, render_frame

SIZE = (1280, 720)
SECONDS = 2.0  # of measurement per decoder, in rounds that alternate between the decoders


def example() -> bytes:
    image = cv2.resize(render_frame(SCENARIOS[0], 0).image, SIZE, interpolation=cv2.INTER_CUBIC)
    return cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def with_opencv(data: bytes) -> np.ndarray:
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def decoders() -> dict[str, Callable[[bytes], np.ndarray] | str]:
    """Name -> decoding function, or the reason why it is not available."""
    found: dict[str, Callable[[bytes], np.ndarray] | str] = {"opencv": with_opencv}
    for name, load in (
        ("simplejpeg", _simplejpeg),
        ("PyTurboJPEG", _turbojpeg),
        ("imagecodecs", _imagecodecs),
        ("pillow", _pillow),
        ("jpeg4py", _jpeg4py),
    ):
        try:
            found[name] = load()
        except (ImportError, OSError, RuntimeError) as error:
            found[name] = f"not available: {str(error).splitlines()[0]}"
    return found


def _simplejpeg():
    import simplejpeg

    return lambda data: simplejpeg.decode_jpeg(data, colorspace="RGB")


def _turbojpeg():
    from turbojpeg import TJPF_RGB, TurboJPEG

    decoder = TurboJPEG()  # looks for the system's libturbojpeg
    return lambda data: decoder.decode(data, pixel_format=TJPF_RGB)


def _imagecodecs():
    from imagecodecs import jpeg8_decode

    return lambda data: jpeg8_decode(data)


def _pillow():
    from PIL import Image

    return lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _jpeg4py():
    import jpeg4py
    from jpeg4py._cffi import initialize

    initialize()  # looks for the system's libturbojpeg; raises OSError
    return lambda data: jpeg4py.JPEG(np.frombuffer(data, np.uint8)).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("frame", nargs="?", type=Path, help="a JPEG file to decode instead of the rendered one")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    data = args.frame.read_bytes() if args.frame else example()
    reference = with_opencv(data)
    print(f"frame: {args.frame or 'rendered'}, {reference.shape[1]}x{reference.shape[0]}, {len(data) / 1000:.0f} kB")
    found = decoders()
    usable = {name: decode for name, decode in found.items() if callable(decode)}
    times: dict[str, list[float]] = {name: [] for name in usable}
    end = time.perf_counter() + SECONDS * len(usable)
    while time.perf_counter() < end:
        for name, decode in usable.items():
            start = time.process_time()
            decode(data)
            times[name].append(time.process_time() - start)
    base = np.median(times["opencv"])
    print(f"{'decoder':<12} {'median ms':>10} {'x opencv':>9} {'largest difference of a pixel':>30}")
    for name, decode in found.items():
        if isinstance(decode, str):
            print(f"{name:<12} {decode}")
            continue
        median = np.median(times[name])
        worst = int(np.abs(decode(data).astype(int) - reference).max())
        print(f"{name:<12} {median * 1e3:10.2f} {base / median:9.2f} {worst:30d}")


if __name__ == "__main__":
    main()
