"""Runs an experiment: a function in ``experiments/`` that returns trackers and sequences.

``python pytracking/run_experiment.py examples peers_on_demo`` calls ``experiments/examples.py``'s ``peers_on_demo()``.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable

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
    """The function of an experiment.

    Raises:
        UserError: if it does not exist; the message lists what does.
    """
    package = importlib.import_module(EXPERIMENTS)
    if importlib.util.find_spec(f"{EXPERIMENTS}.{module_name}") is None:
        existing = [module.name for module in pkgutil.iter_modules(package.__path__)]
        raise UserError(unknown_name_message("experiment module", module_name, existing))
    module = importlib.import_module(f"{EXPERIMENTS}.{module_name}")
    functions = dict(inspect.getmembers(module, inspect.isfunction))
    own = [key for key, value in functions.items() if value.__module__ == module.__name__ and not key.startswith("_")]
    if name not in own:
        raise UserError(unknown_name_message(f"experiment in experiments/{module_name}.py called", name, own))
    return functions[name]


def run_experiment(
    experiment_module: str,
    experiment_name: str,
    debug: int = 0,
    threads: int = 0,
    *,
    rerun: bool = False,
    overwrite: bool = False,
) -> RunReport:
    """Runs an experiment and shows its scores; results that are there are kept.

    Args:
        experiment_module: module in experiments/.
        experiment_name: function in it that returns (trackers, sequences).
        debug: debug level of the trackers.
        threads: worker processes; 0: in this one.
        rerun: compute results again that are there already.
        overwrite: move results of other settings or data away first.
    """
    trackers, sequences = find_experiment(experiment_module, experiment_name)()
    report = run_dataset(sequences, trackers, debug, threads, rerun=rerun, overwrite=overwrite)
    for tracker in trackers:
        show_results(tracker, sequences)
    print(report.summary())
    return report


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    apply_computing_options(args)
    report = run_experiment(
        args.experiment_module,
        args.experiment_name,
        args.debug,
        args.workers,
        rerun=args.rerun,
        overwrite=args.overwrite,
    )
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    parser = CommandParser(description="Run an experiment; results that are there are kept.")
    add_arguments(parser)
    return run_command(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
