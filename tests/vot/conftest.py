"""A miniature workspace: rendered sequences, a short stack. Nothing is downloaded."""
from __future__ import annotations

from pathlib import Path

import pytest

from pytracking.tracker.base import TrackerParams
from pytracking.vot_integration.workspace import StackChanges, create_workspace
from tests.vot import miniature

EAO_INTERVAL = (5, 12)
PATIENCE = 10_000  # slow frames that a real-time run forgives, so that a busy machine changes no result


@pytest.fixture()
def make_workspace(tmp_path):
    """Makes a workspace of VOT2018's stack with sequences from :func:`miniature.source`."""

    def make(
        sources, *, trackers=(), repetitions=1, name="workspace", eao_interval=EAO_INTERVAL, grace=PATIENCE
    ) -> Path:
        changes = StackChanges(repetitions, eao_interval)
        create_workspace(tmp_path / name, "vot2018/shortterm", trackers, sources, changes=changes)
        stack = tmp_path / name / "stack.yaml"
        original = stack.read_text()
        assert "grace: 3\n" in original
        stack.write_text(original.replace("grace: 3\n", f"grace: {grace}\n"))
        return tmp_path / name

    return make


@pytest.fixture()
def two_sequences(tmp_path):
    """30 frames in which HalfThenJump fails once, and 8 in which it does not."""
    return [miniature.source(tmp_path / "frames", 0, 30), miniature.source(tmp_path / "frames", 1, 8)]


@pytest.fixture()
def in_process():
    """Makes a toolkit tracker of a kind of :mod:`miniature` that runs in this process."""
    from pytracking.vot_integration.inprocess import InProcessTracker

    def make(kind: str, **options) -> InProcessTracker:
        return InProcessTracker(kind, miniature.KINDS[kind](TrackerParams()), **options)

    return make
