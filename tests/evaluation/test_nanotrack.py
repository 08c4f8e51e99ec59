"""NanoTrack v3: its geometry against direct computations, its ONNX files freed of their fixed size, and one run."""
from __future__ import annotations

import builtins
import os
from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation import Tracker
from pytracking.evaluation.networks import MissingWeightsError
from pytracking.tracker.nanotrack.free_shape import free_spatial_size
from pytracking.tracker.nanotrack.nanotrack import (
    cell_points,
    change_penalty,
    decode_boxes,
    open_session,
    target_probability,
)
from tests.evaluation.conftest import write_sequence

PEERS = Path(os.environ.get("PYTRACKING_TEST_PEERS", Path(__file__).parents[3] / "shared" / "peers"))
HAS_PEERS = (PEERS / "nanotrack_v3_backbone.onnx").is_file()
needs_peers = pytest.mark.skipif(not HAS_PEERS, reason="no ONNX files of NanoTrack v3 (PYTRACKING_TEST_PEERS)")


def message(field: int, content: bytes) -> bytes:
    """A length-delimited field of a protocol buffer, of less than 128 bytes."""
    return bytes([field << 3 | 2, len(content)]) + content


def value_info(*dims: bytes) -> bytes:
    shape = b"".join(message(1, dim) for dim in dims)
    return message(1, b"x") + message(2, message(1, b"\x08\x01" + message(2, shape)))


def test_only_heights_and_widths_of_inputs_and_outputs_are_freed() -> None:
    image = value_info(b"\x08\x01", b"\x08\x03", b"\x08\xff\x01", b"\x08\x10")
    vector = value_info(b"\x08\x01", b"\x08\x08")
    weight = message(5, b"\x08\xff\x01")  # an initialiser that happens to hold the same bytes
    model = b"\x08\x07" + message(7, message(1, b"node") + weight + message(11, image) + message(12, vector))
    freed = value_info(b"\x08\x01", b"\x08\x03", b"\x12\x01s", b"\x12\x00")
    expected = b"\x08\x07" + message(7, message(1, b"node") + weight + message(11, freed) + message(12, vector))
    assert free_spatial_size(model) == expected


@pytest.mark.parametrize("content", [b"", b"\x08", b"\x08\x07", b"no model"])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not an ONNX model"):
        free_spatial_size(content)


def test_cells_are_read_as_boxes() -> None:
    points, window = cell_points(3, 16)
    assert points[0].tolist() == [-16, -16] and points[5].tolist() == [16, 0]
    assert window.argmax() == 4
    distances = np.zeros((4, 3, 3))
    distances[:, 1, 2] = [10, 4, 6, 8]  # left, top, right, bottom of the cell right of the middle
    offsets, sizes = decode_boxes(distances, points)
    assert offsets[5].tolist() == [14, 2] and sizes[5].tolist() == [16, 12]
    logits = np.zeros((2, 3, 3))
    logits[1, 0, 0] = 2.0
    assert target_probability(logits)[:2].tolist() == pytest.approx([1 / (1 + np.exp(-2)), 0.5])


def test_penalty_is_one_without_change_and_falls_both_ways() -> None:
    last = np.array([20.0, 10.0])
    sizes = np.array([[20.0, 10], [40, 20], [10, 5], [10, 20]])
    penalty = change_penalty(sizes, last, strength=0.138, context=0.5)
    assert penalty.tolist() == pytest.approx([1, np.exp(-0.138), np.exp(-0.138), np.exp(-0.138 * 3)])


def test_missing_networks_are_named(tmp_path, monkeypatch) -> None:
    with pytest.raises(MissingWeightsError, match="nanotrack_v3_backbone.onnx"):
        Tracker("nanotrack", "v3").create_tracker()
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path))
    (tmp_path / "nanotrack_v3_backbone.onnx").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match="nanotrack_v3_head.onnx"):
        Tracker("nanotrack", "v3").create_tracker()


def test_missing_onnxruntime_is_named(tmp_path, monkeypatch) -> None:
    real_import = builtins.__import__

    def without(name: str, *args, **kwargs):
        if name == "onnxruntime":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install onnxruntime"):
        open_session(tmp_path / "any.onnx")


@needs_peers
def test_it_follows_a_square_and_repeats_itself(tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(PEERS))
    sequence = write_sequence(tmp_path, "square", frames=8, size=(120, 160))
    output = Tracker("nanotrack", "v3").run_sequence(sequence)
    assert np.abs(output.boxes[-1] - sequence.ground_truth_rect[-1]).max() < 8, "moved 14 pixels"
    assert (np.asarray(output.scores[1:]) > 0.5).all()
    np.testing.assert_array_equal(output.boxes, Tracker("nanotrack", "v3").run_sequence(sequence).boxes)
