"""The notebook runs from top to bottom."""
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="pip install nbformat nbclient ipykernel")
nbclient = pytest.importorskip("nbclient", reason="pip install nbformat nbclient ipykernel")
pytest.importorskip("ipykernel", reason="pip install nbformat nbclient ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "analyze_results.ipynb"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Executes the notebook with lines of its second cell replaced; returns its outputs."""
    for key in ("results", "result_plot"):
        monkeypatch.setenv(f"PYTRACKING_{key.upper()}_PATH", str(tmp_path / key))
    # the demo is rendered once and kept where other tests and the user have it
    monkeypatch.delenv("PYTRACKING_CACHE_PATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(NOTEBOOK.parents[1]), os.environ.get("PYTHONPATH", "")]))

    def execute(**settings: str) -> list:
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), "commit the notebook without outputs"
        for name, value in settings.items():
            cell = next(cell for cell in notebook.cells if f"\n{name} = " in f"\n{cell.source}")
            cell.source = re.sub(rf"^{name} = .*$", f"{name} = {value}", cell.source, flags=re.MULTILINE)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(tmp_path))
        return [output for cell in notebook.cells for output in cell.get("outputs", [])]

    return execute


def test_notebook_runs_top_to_bottom(run, tmp_path: Path) -> None:
    outputs = run()
    text = "".join(output.get("text", "") for output in outputs)
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3
    assert "KCF against Static" in text and "rule 'pytracking'" in text
    assert all(f"\n{rule}" in "\n" + text for rule in ("strict", "got10k", "lasot", "trackingnet", "otb"))
    assert (tmp_path / "result_plot" / "demo_success.pdf").exists()


def test_notebook_takes_ones_own_data(run, folder_dataset: Path, tmp_path: Path) -> None:
    """No attributes, another name, a single tracker."""
    outputs = run(DATASET=f'"folder:{folder_dataset}"', TRACKERS='{"Mine": ("identity", "default")}')
    text = "".join(output.get("text", "") for output in outputs)
    assert "Mine" in text and "KCF" not in text
    assert (tmp_path / "result_plot" / f"{folder_dataset.name}_success.pdf").exists()
