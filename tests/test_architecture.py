"""docs/architecture.md tells the truth: the files of its drawing are those that a frame goes through, in this order."""
from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation import Tracker
from pytracking.evaluation.networks import FallbackWeightsWarning
from pytracking.run_tracker import main
from pytracking.utils.image_io import write_image

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"


def drawn_files() -> list[Path]:
    named = re.findall(r'"(\d+) ([\w/]+\.py)<br>', PAGE.read_text(encoding="utf-8"))
    assert [int(number) for number, _ in named] == list(range(1, len(named) + 1))
    return [ROOT / (name if name.startswith("ltr") else f"pytracking/{name}") for _, name in named]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path / "networks"))
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "config.toml"))
    noise = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    for number in range(1, 5):
        write_image(tmp_path / "data" / "one" / "img" / f"{number:04d}.png", noise)
    (tmp_path / "data" / "one" / "groundtruth_rect.txt").write_text("40,30,24,20\n" * 4)
    return tmp_path / "data"


@pytest.mark.filterwarnings(f"ignore::{FallbackWeightsWarning.__module__}.{FallbackWeightsWarning.__name__}")
def test_a_frame_goes_through_the_files_of_the_drawing(folder: Path) -> None:
    files = drawn_files()
    assert len(files) <= 15 and all(file.is_file() for file in files)
    entered: dict[str, None] = {}

    def note(frame, event, argument):
        entered.setdefault(frame.f_code.co_filename)

    command = ["rls_dimp", "default", "--dataset_name", f"folder:{folder}", "--set", "train_skipping=2"]
    command += ["--set", "target_not_found_threshold=-9", "--set", "advanced_localization=False"]
    command += ["--set", "net_opt_iter=1", "--set", "image_sample_size=160"]  # quick
    sys.setprofile(note)
    try:
        assert main(command) == 0
    finally:
        sys.setprofile(None)
    order = [Path(name) for name in entered]
    missing = [file.name for file in files if file not in order]
    assert missing == []
    outside = [order.index(file) for file in (*files[:5], files[6])]  # the sequence and the tracker are made before
    assert outside == sorted(outside), "from the command line to the tracker, in the order of the drawing"


def test_the_examples_of_the_page_run() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code) == 2
    names: dict = {}
    for example in code:
        exec(example, names)
    frames = [np.zeros((40, 60, 3), np.uint8)] * 2
    tracker = names["Still"](Tracker("identity", "default").get_parameters())
    tracker.initialize(frames[0], {"init_bbox": [3, 4, 20, 10]})
    assert tracker.track(frames[1])["target_bbox"] == [3, 4, 20, 10]
    params = Tracker("dimp", "default", network="dimp_mobile", overrides={"train_skipping": 1}).get_parameters()
    frozen = names["FrozenDimp"](params)
    frozen.initialize(frames[0], {"init_bbox": [3, 4, 20, 10]})
    before = frozen.filters.clone()
    frozen.track(frames[1])
    assert (frozen.filters == before).all()
