"""Random damage to the small files: each reader gives a result or its own error, soon, and never another exception.

The recorded examples are of every kind; ``python -m tests.faults.soak texts`` makes a thousand times as many.
"""
import json
import time

import numpy as np
import pytest

from ltr.admin.environment import read_config
from ltr.engine.deployment_graphs import patch_graph
from ltr.errors import UserError
from ltr.sequence_files import read_boxes as read_annotation
from pytracking.evaluation.results import read_boxes, read_scores, read_times
from pytracking.evaluation.run_record import read_record
from pytracking.tracker.nanotrack.nanotrack import open_session
from tests.faults.corruption import corrupted

BOXES = "".join(f"{x:.2f}\t{x + 1:.2f}\t30.00\t40.50\n" for x in np.linspace(0, 99, 40)).encode()
TIMES = "".join(f"{x:.6f}\n" for x in np.linspace(0.01, 0.02, 40)).encode()
RECORD = json.dumps({"parameters": {"weights": "dimp50.pth", "beta": 1.0}, "start": "2026", "seeds": [1, 2]}).encode()
CONFIG = b'results_path = "/data/results"\nnetwork_path = "/data/networks"\nvot18_path = "/data/vot"\n'
HOSTILE = [b"[" * 100_000, b"{" * 100_000, b"\xff\xfe\x00", b"", b"\0" * 4096, b"1" * 5000 + b"\n", b"nan\tinf\t1\t1\n",
           b"1e999 2 3 4\n", b"a = " + b"[" * 50_000, b"\xff" * 2**20]
SECONDS = 2.0  # of processor time


def record_in(path):
    target = path.with_name("run.json")
    target.write_bytes(path.read_bytes())
    return read_record(path.parent)


READERS = {
    "boxes of a result": (read_boxes, BOXES),
    "times": (read_times, TIMES),
    "scores": (read_scores, TIMES),
    "annotation": (read_annotation, BOXES),
    "run.json": (record_in, RECORD),
    "config": (read_config, CONFIG),
    "exported graph": (open_session, patch_graph()),
}


def check(reader, path) -> bool:
    """Whether the damaged file was read; anything but a UserError that names it is a fault."""
    began = time.process_time()
    try:
        reader(path)
        return True
    except UserError as error:
        assert path.name in str(error)
        return False
    finally:
        assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("kind", list(READERS))
def test_damaged_texts_are_read_or_named(tmp_path, kind, examples=60):
    reader, content = READERS[kind]
    path = tmp_path / "damaged.txt"
    for damaged in [*HOSTILE, *(corrupted(content, seed) for seed in range(examples))]:
        path.write_bytes(damaged)
        check(reader, path)
    path.write_bytes(content)
    assert check(reader, path)
