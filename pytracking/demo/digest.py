"""Reference digests of the demo sequences; ``python -m pytracking.demo`` computes them."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytracking.demo.renderer import Rendered

DIGESTS_FILE = Path(__file__).with_name("digests.json")


class Digest:
    """SHA-256 of a sequence's pixels and annotation."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, frame: Rendered) -> None:
        self._hash.update(frame.image.tobytes())
        self._hash.update(f"{frame.box} {frame.visible}\n".encode())

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def reference_digests() -> dict[str, str]:
    """SHA-256 by name of sequence."""
    return json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))


def version() -> str:
    """A short name for this state of all sequences."""
    return hashlib.sha256(DIGESTS_FILE.read_bytes()).hexdigest()[:8]
