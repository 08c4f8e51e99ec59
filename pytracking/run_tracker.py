"""Runs a tracker on a dataset, and shows its scores: ``python pytracking/run_tracker.py rls_dimp default``."""
from __future__ import annotations

import argparse
import ast
import sys
from typing import Any

from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.cli.summary import exit_code, show_results
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import run_dataset


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run a tracker on a dataset; results that are there are kept.")
    parser.add_argument("tracker_name", help="folder in pytracking/tracker")
    parser.add_argument("tracker_param", nargs="?", default="default", help="file in pytracking/parameter/<tracker>")
    parser.add_argument("--runid", type=int, help="number of the run: chooses the seed and the result folder")
    parser.add_argument("--dataset_name", default="otb", help="a dataset's name or folder:PATH (default: otb)")
    parser.add_argument("--sequence", help="one sequence, by name or by number")
    parser.add_argument("--debug", type=int, default=0, help="debug level of the tracker")
    parser.add_argument("--threads", type=int, default=0, help="worker processes; 0: in this one")
    parser.add_argument("--rerun", action="store_true", help="compute results again that are there already")
    parser.add_argument("--overwrite", action="store_true", help="move results of other settings or data away first")
    parser.add_argument("--strict_weights", action="store_true", help="fail where the paper's network is not found")
    parser.add_argument("--network", help="run on this network (file name, path, or name of a bundled one)")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--network_path", help="folder of network weights")
    add_computing_options(parser)
    return parser.parse_args(argv)


def parse_overrides(assignments: list[str]) -> dict[str, Any]:
    """Turns ``["learning_rate=0.03", "device=cpu"]`` into a dict; what is not a Python literal stays a string."""
    overrides = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise ValueError(f"--set {assignment}: expected NAME=VALUE")
        try:
            overrides[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            overrides[name] = text
    return overrides


def select_sequences(dataset: SequenceList, sequence: str | None) -> SequenceList:
    """The whole dataset, or one of its sequences by name or number."""
    if sequence is None:
        return dataset
    if sequence in dataset.names:
        return SequenceList([dataset[sequence]])
    if sequence.isdecimal() and int(sequence) < len(dataset):
        return SequenceList([dataset[int(sequence)]])
    raise ValueError(f"--sequence {sequence}: there is no such sequence; there are: {', '.join(dataset.names)}")


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    apply_computing_options(args)
    overrides = parse_overrides(args.set) | ({"device": args.device} if args.device else {})
    tracker = Tracker(
        args.tracker_name,
        args.tracker_param,
        args.runid,
        strict_weights=args.strict_weights,
        network=args.network,
        overrides=overrides,
    )
    sequences = select_sequences(get_dataset(args.dataset_name), args.sequence)
    report = run_dataset(
        sequences, [tracker], args.threads, debug=args.debug, rerun=args.rerun, overwrite=args.overwrite
    )
    show_results(tracker, sequences)
    print(report.summary())
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    return exit_code(lambda: run(args), debug=args.debug > 0)


if __name__ == "__main__":
    sys.exit(main())
