"""The wheel, built from the sources and used outside the repository with the dependencies that are installed."""
from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("rls_ext", "ltr", "pytracking", "experiments", "pyproject.toml", "setup.py", "README.md", "LICENSE")
pytest.importorskip("setuptools")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:  # a copy: building leaves folders behind
        source, target = ROOT / name, folder / "source" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "local.py"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, "."]
    subprocess.run(command, cwd=folder / "source", check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:  # a wheel of Python alone is installed by unpacking it
        archive.extractall(folder)
    return folder


@pytest.fixture
def use(installed: Path, tmp_path: Path):
    def call(*arguments: str) -> subprocess.CompletedProcess:
        own = {"PYTHONPATH": str(installed), "XDG_DATA_HOME": str(tmp_path), "PYTRACKING_CPU_THREADS": "1"}
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTRACKING_")}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=kept | own, capture_output=True, text=True)

    return call


def test_the_wheel_brings_its_packages_its_data_and_the_command(installed: Path):
    tops = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"rls_ext", "ltr", "pytracking"}, "no top-level package of a common name"
    for file in ("ltr/bundled/dimp_mobile.pth", "pytracking/web/static/index.html", "rls_ext/py.typed",
                 "pytracking/experiments/published/uav123.json", "pytracking/experiments/tables/mini.py"):  # fmt: skip
        assert (installed / file).is_file(), file
    assert "__path__" not in (installed / "pytracking/experiments/__init__.py").read_text(), "that of the checkout"
    entry_points = configparser.ConfigParser()
    entry_points.read(next(installed.glob("*.dist-info")) / "entry_points.txt")
    assert entry_points["console_scripts"]["pytracking"] == "pytracking.__main__:main"


def test_experiments_are_part_of_the_package(use):
    assert "mini" in use("-m", "pytracking", "experiments", "list").stdout


def test_a_tracker_runs_from_the_wheel(use, tmp_path: Path):
    import pytracking

    code = "import pytracking, ltr, rls_ext; print(pytracking.__version__, pytracking.__file__)"
    version, file = use("-c", code).stdout.split()
    assert version == pytracking.__version__ and not Path(file).is_relative_to(ROOT)
    done = use("-m", "pytracking", "weights", "check")
    assert done.returncode == 0 and done.stdout.count("OK ") == 2, done.stderr
