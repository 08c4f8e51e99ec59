"""What can be said of Windows and macOS from here: names, separators, processes, folders that ignore case."""
import ast
import re
from pathlib import Path

import pytest

from ltr.errors import UserError
from pytracking.evaluation.running import run_dataset
from pytracking.utils.files import ignores_case
from tests.evaluation.conftest import own_paths, write_sequence  # noqa: F401  (fixtures)
from tests.evaluation.trackers import RandomWalk, Spec
from tests.faults.file_layer import case_ignoring_disk

ROOT = Path(__file__).parents[2]
PACKAGES = ("rls_ext", "ltr", "pytracking", "experiments")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
POSIX_ONLY = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"}
POSIX_CALLS = {"fork", "killpg", "getuid", "geteuid", "setsid", "mkfifo", "getpgid", "nice"}


def calls(tree: ast.AST):
    """``module.function`` of every call with a dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield f"{ast.unparse(node.func.value)}.{node.func.attr}", node


TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def test_no_call_that_another_system_lacks():
    found = []
    for path, tree in TREES.items():
        for name, node in calls(tree):
            # os.kill(pid, 0) asks whether a process lives, and ends it on Windows
            if name == "os.kill" or (name.startswith("os.") and name[3:] in POSIX_CALLS):
                found.append(f"{path}:{node.lineno}: {name}")
    assert found == []


def test_paths_that_are_told_have_slashes():
    """Ids, titles and entries of files that name a path within a folder are the same on every system."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    found = [
        f"{path}:{node.lineno}" for path, tree in TREES.items() for name, node in calls(tree)
        if name.endswith(".relative_to") and getattr(parents[node], "attr", None) not in ("as_posix", "parts")
    ]
    assert found == []


def test_nothing_insists_on_a_fork():
    found = [
        f"{path}:{node.lineno}" for path, tree in TREES.items() for name, node in calls(tree)
        if name.endswith("get_context") and any(isinstance(a, ast.Constant) and a.value != "spawn" for a in node.args)
    ]
    assert found == []


def test_modules_of_one_system_are_optional():
    found = []
    for path, tree in TREES.items():
        for node in tree.body:  # at top level: imported whatever the system
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if POSIX_ONLY & {name.split(".")[0] for name in names}:
                found.append(f"{path}:{node.lineno}")
    assert found == []


def committed() -> list[str]:
    files = [path for path in ROOT.rglob("*") if ".git" not in path.parts and ".venv" not in path.parts]
    return [path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts]


def test_no_file_name_is_reserved_or_impossible():
    for name in committed():
        for part in name.split("/"):
            assert part.split(".")[0].lower() not in RESERVED, name
            assert not re.search(r'[<>:"\\|?*]', part) and not part.endswith((" ", ".")), name


def test_no_two_names_differ_by_case_alone():
    names = committed()
    lower = [name.lower() for name in names]
    assert len(set(lower)) == len(lower), [name for name in names if lower.count(name.lower()) > 1]


def test_names_that_differ_by_case_alone_are_refused_where_folders_ignore_it(tmp_path, monkeypatch):
    monkeypatch.setattr(RandomWalk, "seconds", 0.0)
    sequences = [write_sequence(tmp_path / "data", name, 3) for name in ("Car", "car", "two")]
    here = tmp_path / "results"
    here.mkdir(exist_ok=True)
    with case_ignoring_disk(here):
        (here / "One.txt").write_text("1")
        assert (here / "oNE.TXT").read_text() == "1" and ignores_case(here)
        with pytest.raises(UserError, match="overwrite each other's results: Car, car$"):
            run_dataset(sequences, [Spec(RandomWalk)], progress=False)
        assert run_dataset(sequences[1:], [Spec(RandomWalk)], progress=False).computed == 2
        assert run_dataset(sequences[1:], [Spec(RandomWalk)], progress=False).kept == 2
    if not ignores_case(here):
        assert run_dataset(sequences, [Spec(RandomWalk)], progress=False).computed == 1
    assert not list(here.rglob(".[Cc]ase*"))
