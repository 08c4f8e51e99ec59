"""``python -m pytracking pack BENCHMARK TRACKER/PARAM``: result files as a benchmark's submission."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytracking.analysis.result_sets import ResultSet, find_results
from pytracking.evaluation import get_dataset
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.evaluation.submission import FORMATS, SubmissionError, pack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=FORMATS, help="whose format")
    parser.add_argument(
        "tracker", metavar="[NAME=]TRACKER/PARAM[:RUNS]", help="e.g. rls_dimp/dimp50:0-2 (GOT-10k takes three runs)"
    )
    parser.add_argument("--dataset", help="dataset to take the sequences from (default: the benchmark's test set)")
    parser.add_argument("--output", type=Path, help="file or folder to write (default: named after the tracker, here)")
    parser.add_argument("--presence-threshold", type=float, help="oxuva: present from this score of the tracker on")
    parser.add_argument("--results-path", type=Path, help="where results are")


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path)
    kind = FORMATS[args.benchmark]
    dataset = args.dataset or kind.datasets[0]
    try:
        results = find_results(args.tracker, env_settings().results_path)
        output = args.output or Path(f"{_stem(results)}_{dataset}{kind.suffix}")
        submission = pack(
            args.benchmark,
            _folders(results),
            get_dataset(dataset),
            output,
            presence_threshold=args.presence_threshold,
        )
    except (LookupError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    runs = f", {submission.runs} repetitions" if submission.runs > 1 else ""
    print(f"{submission.path}: {submission.sequences} sequences{runs}, {submission.files} files, read back and checked")
    print(f"ready to upload: {kind.upload}")
    return 0


def _folders(results: ResultSet) -> list[Path]:
    archives = [run.path for run in results.runs if not run.path.is_dir()]
    if archives:
        raise SubmissionError(f"{archives[0]} is a zip; unpack it first")
    return [run.path for run in results.runs]


def _stem(results: ResultSet) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_.@" else "_" for letter in results.name)
