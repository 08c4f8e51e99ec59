"""What the set-up relies on: versions that agree, extras and files that exist."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ltr.admin.environment import tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONSTRAINTS = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


def test_stand_in_for_opencv_has_the_version_of_the_contrib_build():
    stand_in = tomllib.loads((ROOT / "tools" / "opencv-python" / "pyproject.toml").read_text())["project"]
    assert stand_in["name"] == "opencv-python"
    assert stand_in["version"] == CONSTRAINTS["opencv-python"] == CONSTRAINTS["opencv-contrib-python"]
    assert CONSTRAINTS["opencv-contrib-python-headless"] == CONSTRAINTS["opencv-contrib-python"]


def test_every_direct_requirement_is_constrained():
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    required = {re.match(r"[\w.-]+", line).group().lower() for group in groups for line in group} - {"tomli"}
    assert required - set(CONSTRAINTS) == set(), "add the tested versions to constraints.txt"


def test_extras_of_the_makefile_exist():
    extras = re.search(r"^TEST_EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE).group(1).split(",")
    assert set(extras) <= set(PROJECT["project"]["optional-dependencies"])


def test_package_data_is_there():
    for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items():
        folder = ROOT / ("experiments" if package == "pytracking.experiments" else package.replace(".", "/"))
        for pattern in patterns:
            assert list(folder.glob(pattern)), f"{package}: {pattern}"


@pytest.mark.parametrize("page", ["README.md", "docs/running.md"])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text())
    local = [link for link in links if not link.startswith("http")]
    assert local
    assert [link for link in local if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("arguments", [["--extras"], ["--nonsense"]])
def test_install_refuses_wrong_arguments(arguments):
    process = subprocess.run([ROOT / "install.sh", *arguments], capture_output=True, text=True)
    assert process.returncode != 0
    assert arguments[0] in process.stderr
    assert not (ROOT / "--venv").exists()


def test_install_explains_itself():
    process = subprocess.run([ROOT / "install.sh", "--help"], capture_output=True, text=True, check=True)
    assert all(option in process.stdout for option in ("--venv", "--extras", "--cuda", "--headless"))
