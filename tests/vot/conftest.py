"""A miniature workspace: rendered sequences, a short stack. Nothing is downloaded."""
from __future__ import annotations

import configparser
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import miniature  # noqa: E402

from pytracking.tracker.base import TrackerParams  # noqa: E402
from pytracking.vot.workspace import StackChanges, create_workspace  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EAO_INTERVAL = (5, 12)


def register(workspace: Path, *kinds: str, timeout: int = 60) -> None:
    """Adds trackers of :mod:`miniature` to a workspace's registry, as TraX servers."""
    registry = configparser.ConfigParser()
    registry.read(workspace / "trackers.ini")
    for kind in kinds:
        command = [sys.executable, miniature.__file__, kind, str(0.8 * timeout)]
        registry[kind] = {
            "protocol": "trax",
            "command": shlex.join(command),
            "timeout": str(timeout),
            "env_pythonpath": str(ROOT),
        }
    with open(workspace / "trackers.ini", "w", encoding="utf-8") as stream:
        registry.write(stream)


@pytest.fixture()
def make_workspace(tmp_path):
    """Makes a workspace of VOT2018's stack with sequences from :func:`miniature.source`."""

    def make(sources, *, trackers=(), repetitions=1, name="workspace", eao_interval=EAO_INTERVAL) -> Path:
        changes = StackChanges(repetitions, eao_interval)
        create_workspace(tmp_path / name, "vot2018/shortterm", trackers, sources, changes=changes)
        return tmp_path / name

    return make


@pytest.fixture()
def two_sequences(tmp_path):
    """30 frames in which HalfThenJump fails once, and 8 in which it does not."""
    return [miniature.source(tmp_path / "frames", 0, 30), miniature.source(tmp_path / "frames", 1, 8)]


@pytest.fixture()
def in_process():
    """Makes a toolkit tracker of a kind of :mod:`miniature` that runs in this process."""
    from pytracking.vot.inprocess import InProcessTracker

    def make(kind: str, **options) -> InProcessTracker:
        return InProcessTracker(kind, miniature.KINDS[kind](TrackerParams()), **options)

    return make
