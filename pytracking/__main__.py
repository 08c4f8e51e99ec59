"""``python -m pytracking COMMAND``: one module of ``pytracking.cli`` each, imported only when it is asked for."""
from __future__ import annotations

import argparse
import importlib
import os
import sys

from pytracking.evaluation.environment import ConfigError
from pytracking.utils.notices import show_warnings_plainly

COMMANDS = {
    "doctor": "what is installed, which weights and datasets are found, and what to do about the rest",
    "show": "a contact sheet of a dataset or a sequence",
    "weights": "list, fetch, import and check network weights",
    "analyze": "scores, tables and plots of result files",
    "pack": "result files as a benchmark's submission",
    "play": "a sequence with several trackers' boxes, as a page or a video",
    "vot": "workspaces, runs and reports of the VOT toolkit",
    "export": "a network's parts as ONNX files, with an example that tracks with numpy and onnxruntime alone",
    "serve": "a page in the browser that tracks your own video",
}


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m pytracking", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.epilog = "commands:\n" + "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    command = parser.parse_args(argv[:1]).command
    show_warnings_plainly()
    module = importlib.import_module(f"pytracking.cli.{command}")
    command_parser = argparse.ArgumentParser(prog=f"python -m pytracking {command}", description=COMMANDS[command])
    module.add_arguments(command_parser)
    try:
        return module.run(command_parser.parse_args(argv[1:])) or 0
    except ConfigError as error:  # a command that has no error of its own to say reads the settings, too
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
