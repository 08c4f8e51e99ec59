"""Options and fixtures shared by the whole suite."""
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

# Begun first, so that processes which share the suite by files end together: most of them have few tests.
LONG_FILES = [
    "faults/test_accelerator.py", "training/test_training_runs.py", "vot/test_equality.py", "golden_family/test_e2e.py",
    "web/test_ways_in.py", "evaluation/test_running.py", "web/test_page.py", "experiments/test_ray_cluster.py",
    "analysis/test_notebook.py", "rtmdnet/test_tracker.py", "vot/test_failures.py", "evaluation/test_result_folder.py",
    "vot/test_running.py", "golden/test_checkpoints.py", "experiments/test_memory_probe.py", "docs/test_site.py",
    "golden/test_e2e_dimp.py", "web/test_targets.py", "golden/test_e2e_rtmdnet.py", "web/test_broken_flow.py",
    "faults/test_workers.py", "docs/test_examples.py", "test_wheel.py", "faults/test_page_load.py",
]  # fmt: skip
GOLDEN_COPY = Path(__file__).parent / "golden" / "data"
FAMILY_COPY = Path(__file__).parent / "golden_family" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {Path(__file__).parent / name: index for index, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir", default=str(GOLDEN_COPY), help="folder of golden numbers (same schema as tests/golden/data)"
    )
    parser.addoption(
        "--golden-family-dir",
        default=str(FAMILY_COPY),
        help="folder of golden numbers of ATOM, PrDiMP and SuperDiMP (same schema as tests/golden_family/data)",
    )


@pytest.fixture(scope="session")
def golden_dir(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--golden-dir"))


@pytest.fixture(scope="session")
def sequences_dir() -> Path:
    """Folder of real annotated sequences (``<benchmark>/<sequence>/img``); tests that need it are skipped without."""
    root = Path(os.environ.get("PYTRACKING_TEST_SEQUENCES", Path(__file__).parents[2] / "shared" / "sequences"))
    if not root.is_dir():
        pytest.skip(f"no real sequences in {root}: set PYTRACKING_TEST_SEQUENCES to their folder")
    return root


@pytest.fixture
def saved_figures(monkeypatch: pytest.MonkeyPatch) -> list:
    """Every figure that is saved during the test, in order, so that what it shows can be compared with the data."""
    from matplotlib.figure import Figure

    saved, save = [], Figure.savefig

    def noting(figure: Figure, *arguments, **options) -> None:
        save(figure, *arguments, **options)
        saved.append(figure)

    monkeypatch.setattr(Figure, "savefig", noting)
    return saved
