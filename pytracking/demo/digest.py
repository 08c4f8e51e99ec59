"""Reference digests of the demo sequences; ``python -m pytracking.demo`` computes them."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytracking.demo.renderer import Rendered

DIGESTS_FILE = Path(__file__).with_name("digests.json")


def digested(frame: Rendered) -> bytes:
    """The pixels and the annotation of a frame, for its sequence's SHA-256."""
    return frame.image.tobytes() + f"{frame.box} {frame.visible}\n".encode()


def reference_digests() -> dict[str, str]:
    """SHA-256 by name of sequence."""
    return json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))


def version() -> str:
    """A short name for this state of all sequences."""
    return hashlib.sha256(DIGESTS_FILE.read_bytes()).hexdigest()[:8]
