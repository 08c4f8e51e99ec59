"""The commands of ``pytracking``; each is imported only when it is asked for."""
from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from ltr.errors import exit_code
from pytracking.cli.parser import CommandParser
from pytracking.utils.notices import show_warnings_plainly

COMMANDS = {
    "run": "run a tracker on a dataset, and show its scores",
    "video": "track objects in your own video",
    "webcam": "track what the camera sees",
    "serve": "a page in the browser that tracks your own video",
    "analyze": "scores, tables and plots of result files",
    "play": "a sequence with several trackers' boxes, as a page or a video",
    "show": "a contact sheet of a dataset or a sequence",
    "pack": "result files as a benchmark's submission",
    "vot": "workspaces, runs and reports of the VOT toolkit",
    "experiments": "the paper's tables and figures",
    "train": "train a network",
    "weights": "list, fetch, import and check network weights",
    "export": "a network's parts as ONNX files, with an example that tracks with numpy and onnxruntime alone",
    "doctor": "what is installed, which weights and datasets are found, and what to do about the rest",
    "completion": "a script for your shell that completes commands, options, trackers and datasets",
}
SCRIPTS = {  # commands that can be started by themselves, too
    "run": "pytracking.run_tracker",
    "video": "pytracking.run_video",
    "webcam": "pytracking.run_webcam",
    "experiments": "pytracking.experiments.__main__",
    "train": "ltr.run_training",
}
TRACKER_FIRST = ("run", "video", "webcam")


def command_module(command: str) -> Any:
    """The module of a command: ``add_arguments(parser)`` and ``run(args)``."""
    return importlib.import_module(SCRIPTS.get(command, f"pytracking.cli.{command}"))


def command_parser(command: str, *, script: bool = False) -> CommandParser:
    """The parser of a command; ``script``: it was started by its own file, whose name the usage then shows."""
    text = COMMANDS[command]
    parser = CommandParser(
        prog=None if script else f"pytracking {command}",
        description=f"{text[0].upper()}{text[1:]}.",
        tracker_first=command in TRACKER_FIRST,
    )
    command_module(command).add_arguments(parser)
    return parser


def run_command(parser: CommandParser, run: Callable[[argparse.Namespace], int | None], argv: list[str] | None) -> int:
    """Parses the arguments, calls ``run`` with them and returns the exit code; ``--debug`` shows tracebacks."""
    args = parser.parse_args(argv)
    show_warnings_plainly()
    return exit_code(lambda: run(args), debug=bool(getattr(args, "debug", False)))
