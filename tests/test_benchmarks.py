"""The scripts in benchmarks/ and examples/ import only names that the project has; most are too slow to run here."""
from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = ("experiments", "ltr", "pytracking", "rls_ext")
SCRIPTS = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/*.py")])


def exists(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name) or bool(importlib.util.find_spec(f"{module}.{name}"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_imported_names_exist(script: Path) -> None:
    nodes = ast.walk(ast.parse(script.read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in PROJECT]
    names = [(node.module, each.name) for node in imports for each in node.names]
    assert [f"{module}.{name}" for module, name in names if not exists(module, name)] == []
