"""Checks folders, free space, video codecs and the browser."""
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytracking.cli.checks import Finding
from pytracking.evaluation.environment import env_settings, how_to_set

ENOUGH = 2**30  # bytes: the demo's frames are 190 MB, a run of a benchmark a few MB
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FRAMES = 5


def folders(enough: int = ENOUGH) -> Iterator[Finding]:
    """Checks that the folders of results, networks, plots and caches are writable, and their free space."""
    settings = env_settings()
    for key in ("results_path", "network_path", "result_plot_path", "cache_path"):
        path, remedy = getattr(settings, key), how_to_set(key).replace("\n", " ")
        problem = why_not_writable(path)
        if problem is not None:
            needed = key != "network_path"  # networks are often read from a folder without write permission
            yield Finding(False if needed else None, key, f"cannot be written: {problem}", remedy if needed else "")
            continue
        free = shutil.disk_usage(_existing(path)).free
        state = f"{path}{'' if path.is_dir() else ' (created when needed)'}, {free / 2**30:.1f} GiB free"
        yield Finding(free > enough, key, state, "" if free > enough else f"free some space, or {remedy}")


def why_not_writable(folder: Path) -> str | None:
    """Tries to write a temporary file to the folder, or to where it would be created; returns the error or None."""
    existing = _existing(folder)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"0" * 4096)  # a full disk can still hold an empty file
            file.flush()
    except OSError as error:
        return f"{existing}: {error.strerror or error}"
    return None


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.resolve().parents) if path.exists())


def video() -> Iterator[Finding]:
    """Writes and reads short videos, in the format for browsers and in OpenCV's, and looks for a browser."""
    from pytracking.utils.video_writer import browser_suffix

    for suffix in dict.fromkeys((browser_suffix(), ".mp4", ".avi")):
        yield round_trip(suffix)
    path = os.environ.get("PYTRACKING_TEST_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    remedy = "Debian: apt-get install chromium (only the tests of the page need it)"
    yield Finding(True if path else None, "browser for tests", path or "none found", "" if path else remedy)


def round_trip(suffix: str) -> Finding:
    """Writes a few frames to a file with this suffix and reads them back."""
    from pytracking.utils.video_writer import VideoWriter
    from pytracking.video.sources import open_source

    subject = f"video {suffix}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"test{suffix}"
        try:
            with VideoWriter(path, 25.0) as writer:
                for number in range(FRAMES):
                    writer.write(np.full((64, 64, 3), 40 * number, np.uint8))
            with open_source(str(path)) as source:
                count = sum(1 for _ in source)
        except Exception as error:  # each codec library raises its own errors
            return Finding(False, subject, f"{type(error).__name__}: {error}", "pip install 'rls-tracking[video]'")
    incomplete = f"{count} of {FRAMES} frames could be read back"
    return Finding(count == FRAMES, subject, "written and read back" if count == FRAMES else incomplete)
