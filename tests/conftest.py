"""Options and fixtures shared by the whole suite."""
import os
from pathlib import Path

import pytest

GOLDEN_COPY = Path(__file__).parent / "golden" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir", default=str(GOLDEN_COPY), help="folder of golden numbers (same schema as tests/golden/data)"
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
