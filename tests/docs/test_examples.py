"""The examples and notebooks run, on a few frames and with a tracker that costs little."""
from __future__ import annotations

import os
import runpy
from pathlib import Path

import cv2
import pytest

from tests.docs.blocks import ROOT

SHORT = ["--tracker", "opencv/mil", "--frames", "4"]


@pytest.mark.parametrize(
    "name, arguments, suffix",
    [
        ("embedding", SHORT, ".png"),
        ("several_targets", SHORT, ".jpg"),
        ("opencv_interface", SHORT, ".jpg"),
        ("continual_learning", ["--steps", "2", "--seeds", "1"], ".png"),
    ],
)
def test_example_writes_its_picture(name, arguments, suffix, tmp_path: Path, capsys):
    if name == "opencv_interface":
        pytest.importorskip("supervision")
    picture = tmp_path / f"picture{suffix}"
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"]([*arguments, "--output", str(picture)])
    shown = cv2.imread(str(picture))
    assert min(shown.shape[:2]) > 100 and shown.std() > 10, "a picture with something on it"
    assert str(picture) in capsys.readouterr().out


def test_rls_forgets_less_than_its_peers():
    example = runpy.run_path(str(ROOT / "examples" / "continual_learning.py"))
    curves = example["compare"](steps=12, seeds=1)
    ends = {name.split(",")[0]: float(values[0, -1]) for name, values in curves.items()}
    assert ends["SGD + RLS"] < 0.8 * min(ends["SGD"], ends["Adam"])


@pytest.mark.parametrize("name", ["track_a_video", "rls_in_pytorch"])
def test_notebook_runs(name, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for key, value in {"TRACKER": "opencv/mil", "FRAMES": "5", "STEPS": "2"}.items():
        monkeypatch.setenv(f"NOTEBOOK_{key}", value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit the notebook without outputs"
    folder = {"metadata": {"path": str(ROOT / "notebooks")}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
