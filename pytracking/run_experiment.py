"""Runs an experiment: a function in ``experiments/`` that returns trackers and sequences.

``python pytracking/run_experiment.py examples peers_on_demo`` runs ``peers_on_demo()`` of ``experiments/examples.py``.
"""
import argparse
import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from ltr.errors import UserError
from pytracking.cli.commands import run_command
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.cli.parser import CommandParser
from pytracking.cli.summary import show_results
from pytracking.cli.tracker_options import add_running_options
from pytracking.evaluation import SequenceList, Tracker
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import RunReport, run_dataset
from pytracking.utils.names import unknown_name_message

EXPERIMENTS = "pytracking.experiments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment_module", help="module in experiments/")
    parser.add_argument("experiment_name", help="function in it that returns (trackers, sequences)")
    parser.add_argument("--debug", type=int, default=0, help="debug level of the trackers")
    add_running_options(parser)
    parser.add_argument("--network_path", help="folder of network weights")
    add_computing_options(parser)


def find_experiment(module_name: str, name: str) -> Callable[[], tuple[list[Tracker], SequenceList]]:
    """Imports an experiment's function; if there is none of that name, a UserError lists the existing ones."""
    found = experiments_by_module()
    if module_name not in found:
        raise UserError(unknown_name_message("module with experiments called", module_name, list(found)))
    if name not in found[module_name]:
        where = f"experiment in experiments/{module_name}.py called"
        raise UserError(unknown_name_message(where, name, found[module_name]))
    return getattr(importlib.import_module(f"{EXPERIMENTS}.{module_name}"), name)


def experiments_by_module() -> dict[str, list[str]]:
    """Names of all experiments by module; modules are parsed, not imported, because most of them are internal."""
    folder = Path(next(iter(importlib.import_module(EXPERIMENTS).__path__)))
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("[!_]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _all_optional(node.args):
                found.setdefault(path.stem, []).append(node.name)
    return found


def _all_optional(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    return positional == len(arguments.defaults) and None not in arguments.kw_defaults


def run_experiment(
    experiment_module: str,
    experiment_name: str,
    debug: int = 0,
    threads: int = 0,
    *,
    rerun: bool = False,
    overwrite: bool = False,
) -> RunReport:
    """Runs an experiment and shows its scores."""
    trackers, sequences = find_experiment(experiment_module, experiment_name)()
    report = run_dataset(sequences, trackers, debug, threads, rerun=rerun, overwrite=overwrite)
    for tracker in trackers:
        show_results(tracker, sequences)
    print(report.summary())
    return report


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    apply_computing_options(args)
    names = args.experiment_module, args.experiment_name
    report = run_experiment(*names, args.debug, args.workers, rerun=args.rerun, overwrite=args.overwrite)
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    parser = CommandParser(description="Run an experiment; existing results are kept.")
    add_arguments(parser)
    return run_command(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
