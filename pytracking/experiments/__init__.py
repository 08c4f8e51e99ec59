"""Makes a checkout's top-level experiments available under their installed name.

A wheel contains that folder here instead, so that it installs no top-level package with so common a name.
"""
from pathlib import Path

__path__ = [str(Path(__file__).resolve().parents[2] / "experiments")]
