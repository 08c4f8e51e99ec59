"""The commands of ``pytracking``; each is imported only when it is used."""
import argparse
import importlib
from collections.abc import Callable
from typing import Any

from ltr.errors import exit_code
from pytracking.cli.parser import CommandParser
from pytracking.utils.notices import show_warnings_plainly

COMMANDS = {
    "run": "run a tracker on a dataset and show its scores",
    "video": "track objects in your own video",
    "webcam": "track objects in front of a camera",
    "serve": "track your own video on a page in the browser",
    "analyze": "score result files: tables and plots",
    "play": "show a sequence with several trackers' boxes, as a page or a video",
    "show": "draw a contact sheet of a dataset or a sequence",
    "pack": "pack result files as a benchmark's submission",
    "vot": "create, run and score workspaces of the VOT toolkit",
    "experiments": "make the paper's tables and figures",
    "train": "train a network",
    "weights": "list, fetch, import and check network weights",
    "export": "export a network as ONNX files, with an example that needs only numpy and onnxruntime",
    "doctor": "check packages, devices, weights and datasets, and say how to add what is missing",
    "completion": "print a shell script that completes commands, options, trackers and datasets",
}
SCRIPTS = {  # commands that are also scripts of their own
    "run": "pytracking.run_tracker",
    "video": "pytracking.run_video",
    "webcam": "pytracking.run_webcam",
    "experiments": "pytracking.experiments.__main__",
    "train": "ltr.run_training",
}
TRACKER_FIRST = ("run", "video", "webcam")


def command_module(command: str) -> Any:
    """Imports the module of a command, which has ``add_arguments(parser)`` and ``run(args)``."""
    return importlib.import_module(SCRIPTS.get(command, f"pytracking.cli.{command}"))


def command_parser(command: str, *, script: bool = False) -> CommandParser:
    """Creates the parser of a command; with ``script``, the usage shows the name of the script that was started."""
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
