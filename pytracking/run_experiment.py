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

from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.cli.summary import exit_code, show_results
from pytracking.evaluation import SequenceList, Tracker
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import run_dataset
from pytracking.utils.names import unknown_name_message


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run an experiment; results that are there are kept.")
    parser.add_argument("experiment_module", help="module in experiments/")
    parser.add_argument("experiment_name", help="function in it that returns (trackers, sequences)")
    parser.add_argument("--debug", type=int, default=0, help="debug level of the trackers")
    parser.add_argument("--threads", type=int, default=0, help="worker processes; 0: in this one")
    parser.add_argument("--rerun", action="store_true", help="compute results again that are there already")
    parser.add_argument("--overwrite", action="store_true", help="move results of other settings or data away first")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--network_path", help="folder of network weights")
    add_computing_options(parser)
    return parser.parse_args(argv)


def find_experiment(module_name: str, name: str) -> Callable[[], tuple[list[Tracker], SequenceList]]:
    """The function of an experiment.

    Raises:
        ValueError: if it does not exist; the message lists what does.
    """
    package = importlib.import_module("experiments")
    if importlib.util.find_spec(f"experiments.{module_name}") is None:
        existing = [module.name for module in pkgutil.iter_modules(package.__path__)]
        raise ValueError(unknown_name_message("experiment module", module_name, existing))
    module = importlib.import_module(f"experiments.{module_name}")
    functions = dict(inspect.getmembers(module, inspect.isfunction))
    own = [key for key, value in functions.items() if value.__module__ == module.__name__ and not key.startswith("_")]
    if name not in own:
        raise ValueError(unknown_name_message(f"experiment in experiments/{module_name}.py called", name, own))
    return functions[name]


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    apply_computing_options(args)
    trackers, sequences = find_experiment(args.experiment_module, args.experiment_name)()
    report = run_dataset(
        sequences, trackers, args.threads, debug=args.debug, rerun=args.rerun, overwrite=args.overwrite
    )
    for tracker in trackers:
        show_results(tracker, sequences)
    print(report.summary())
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    return exit_code(lambda: run(args), debug=args.debug > 0)


if __name__ == "__main__":
    sys.exit(main())
