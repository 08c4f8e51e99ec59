"""Every code block of README and docs runs: Python as it stands, commands on a small video and small sequences.

A command that would download, take hours or need a benchmark's data is read by the real parser instead, so that its
options exist and mean what the page says; ``NOT_RUN`` says which and why.
"""
from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ltr.weights import find_weights
from pytracking.__main__ import main
from pytracking.cli.commands import command_parser
from tests.docs.blocks import ROOT, blocks, python_pages, shell_commands

NOT_RUN = {  # pattern: why
    r"pytracking serve": "does not end; tests/web drives it",
    r"pytracking weights (fetch|import)": "downloads; tests/ltr_models/test_weights.py does it from a local server",
    r"pytracking train": "takes hours; tests/training runs every setting for a few steps",
    r"pytracking experiments (run|plan|status|report)": "takes hours; tests/experiments runs small ones",
    r"pytracking vot": "needs VOT's data; tests/vot runs workspaces of a miniature",
    r"pytracking pack": "needs a benchmark's results; tests/analysis/test_submission.py packs them",
    r"pytracking (analyze|play|run) .*\b(otb|lasot|uav)\b": "needs a benchmark's data",
    r"pytracking .* --dataset folder:\.\./": "needs sequences that are not in the repository",
}
# What is short enough here: a few frames and a tracker that costs nothing stand for the page's.
SMALLER = [
    (r"--dataset demo\b", "--dataset folder:sequences"),
    (r"(analyze|play|show) demo\b", r"\1 folder:sequences"),
    (r"folder:/(data|path)/\S+", "folder:sequences"),
    (r"\b(my|clip|VIDEO)(\.mp4)?\b(?=.*--(output|save))", "video.mp4"),
    (r"\b(rls_dimp/default|opencv/csrt|rls_dimp/super_dimp|rls_dimp/prdimp50|rls_atom/default)", "identity/default"),
    (r"--sequence (beetle|Deer)", "--sequence one"),
    (r"--workers \d+", "--workers 0"),
]


@pytest.mark.parametrize("page", python_pages())
def test_python_blocks_run(page, in_world: Path, capsys):
    for name in ("clip.mp4", "my.mp4"):
        (in_world / name).exists() or (in_world / name).symlink_to("video.mp4")
    names: dict = {}
    for block in python_pages()[page]:
        exec(compile(_prepared(block.text, names), f"{page}:{block.line}", "exec"), names)


def _prepared(text: str, names: dict) -> str:
    """What a reader has before the block begins: the next frame, the published network, results on a benchmark."""
    if "next_frame" in text:
        names["next_frame"] = names["frame"]
    if "lasot" in text:
        assert main(["run", "identity/default", "--dataset", "folder:sequences"]) == 0
    for there, here in (
        ('"dimp50.pth"', repr(str(find_weights("dimp_mobile", [])))),
        ('"rls_dimp", "default", range(20)', '"identity", "default", None'),
        ('get_dataset("lasot")', 'get_dataset("folder:sequences")'),
    ):
        text = text.replace(there, here)
    return text


def _commands(start: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys((page, line) for page, line in shell_commands() if line.startswith(start)))


@pytest.mark.parametrize("page, line", _commands("pytracking "))
def test_commands_run(page, line, in_world: Path, capsys, monkeypatch):
    words = shlex.split(line)[1:]
    if any(re.match(pattern, line) for pattern in NOT_RUN):
        command_parser(words[0]).parse_args(words[1:])
        return
    if "--help" in words or len(words) == 1 and words[0] in ("doctor", "weights"):
        with pytest.raises(SystemExit) if "--help" in words else _nothing():
            assert main(words) == 0
        return
    for pattern, smaller in SMALLER:
        line = re.sub(pattern, smaller, line)
    _give_results(line)
    words = list(dict.fromkeys(shlex.split(line)[1:])) if "--box" not in line else shlex.split(line)[1:]
    if words[0] == "video" and "--box" not in words:
        words += ["--box", "60", "50", "40", "40"]
    assert main(words) == 0, capsys.readouterr().err


def _give_results(line: str) -> None:
    """Commands that read results find some."""
    if re.search(r"pytracking (analyze|play|show)", line):
        assert main(["run", "identity/default", "--dataset", "folder:sequences"]) == 0


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_not_run_is_about_commands_that_are_there():
    lines = [line for _, line in _commands("pytracking ")]
    unused = [pattern for pattern in NOT_RUN if not any(re.match(pattern, line) for line in lines)]
    assert unused == [], "nothing of that kind is in the documents any more"


def test_targets_and_options_of_other_commands_exist():
    makefile, install = (ROOT / "Makefile").read_text(), (ROOT / "install.sh").read_text()
    for page, line in shell_commands():
        words = shlex.split(line)
        if words[0] == "make":
            targets = [word for word in words[1:] if "=" not in word]
            assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets), f"{page}: {line}"
        if words[0] == "./install.sh":
            options = [word for word in words if word.startswith("--")]
            assert all(f"  {option}" in install for option in options), f"{page}: {line}"


def _scripts() -> list[tuple[str, str]]:
    return [(page, line) for page, line in _commands("python ") if re.match(r"python [\w/]+\.py", line)]


@pytest.mark.parametrize("page, line", _scripts())
def test_scripts_exist_and_have_these_options(page, line):
    script, *words = shlex.split(line)[1:]
    if script == "out/track.py":  # what `pytracking export` writes; tests/engine/test_export.py runs it
        return
    text = (ROOT / script).read_text(encoding="utf-8")
    missing = [word for word in words if word.startswith("--") and word.split("=")[0].replace("-", "_") not in
               text.replace("-", "_")]
    assert missing == [], f"{page}: {line}"


def _programs() -> list[str]:
    found = (re.match(r"python (-m [\w.]+|[\w/]+\.py)", line) for _, line in _commands("python "))
    return sorted({match[1] for match in found if match} - {"out/track.py"})


@pytest.mark.parametrize("program", _programs())
def test_scripts_and_modules_start_from_the_repository(program):
    done = subprocess.run([sys.executable, *program.split(), "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr


def test_there_are_blocks():
    assert len(blocks()) > 40 and len(_commands("pytracking ")) > 20


def test_the_shell_knows_the_command():
    done = subprocess.run(["bash", "-n"], input="\n".join(line for _, line in shell_commands()), text=True)
    assert done.returncode == 0
