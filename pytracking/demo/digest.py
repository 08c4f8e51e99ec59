"""Reference digests of the demo sequences; ``python -m pytracking.demo`` computes them."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytracking.demo.renderer import Rendered

DIGESTS_FILE = Path(__file__).with_name("digests.json")


def digested(frame: Rendered) -> bytes:
    """Returns the pixels and annotation of a frame as bytes for its sequence's SHA-256."""
    return frame.image.tobytes() + f"{frame.box} {frame.visible}\n".encode()


def reference_digests() -> dict[str, str]:
    """Returns the reference SHA-256 of each sequence by name."""
    return json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))


def version() -> str:
    """Returns a short id of the current state of all sequences."""
    return hashlib.sha256(DIGESTS_FILE.read_bytes()).hexdigest()[:8]
