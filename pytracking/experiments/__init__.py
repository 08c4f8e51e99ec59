"""In a checkout: the experiments of the top-level folder, under the name that they have once installed.

A wheel holds that folder itself in this place, so that it installs no top-level package of so common a name.
"""
from pathlib import Path

__path__ = [str(Path(__file__).resolve().parents[2] / "experiments")]
