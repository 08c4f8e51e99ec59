"""Options and fixtures shared by the whole suite."""
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
