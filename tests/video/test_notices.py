"""What the commands print: notes without lines of code, and `weights` without a subcommand."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOAD = "import pytracking; pytracking.load('rls_dimp', 'default', device='cpu')"


@pytest.fixture
def shell(tmp_path):
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "PYTRACKING_NETWORK_PATH": str(tmp_path),
        "PYTRACKING_RESULTS_PATH": str(tmp_path / "results"),
        "PYTRACKING_CONFIG": str(tmp_path / "none.toml"),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=variables, cwd=tmp_path)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", LOAD),
        (str(ROOT / "pytracking" / "run_video.py"), "rls_dimp", "default", "nowhere.mp4"),
        ("-m", "pytracking", "show", "demo", "--sequence", "bird", "--tracker", "rls_dimp", "default"),
    ],
)
def test_a_note_shows_no_source_line(shell, arguments, tmp_path):
    if arguments[-1] == "nowhere.mp4":  # the tracker is only loaded for a video that is there
        (tmp_path / "frames").mkdir()
        (tmp_path / "frames" / "1.png").write_bytes((ROOT / "docs" / "img" / "rls_cost.png").read_bytes())
        arguments = (*arguments[:-1], "frames", "--optional_box", "20", "20", "60", "60", "--no_display")
    printed = shell(*arguments).stderr
    assert "NOTE: rls_dimp/default: network 'dimp50.pth'" in printed
    assert "warnings.warn" not in printed and ".py:" not in printed


def test_weights_alone_lists(shell):
    """Every hint says `python -m pytracking weights`."""
    done = shell("-m", "pytracking", "weights")
    assert done.returncode == 0 and "dimp50.pth" in done.stdout


def test_plots_go_below_the_results(shell, tmp_path):
    code = "from pytracking.evaluation import env_settings; print(env_settings().result_plot_path)"
    assert Path(shell("-c", code).stdout.strip()) == tmp_path / "results" / "plots"
