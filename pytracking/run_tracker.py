"""Runs a tracker on a dataset, and shows its scores: ``python pytracking/run_tracker.py rls_dimp default``."""
from __future__ import annotations

import argparse
import sys
from typing import Any

from ltr.errors import UserError, exit_code
from pytracking.cli.parser import PARAMETERS_HELP, TRACKER_HELP, CommandParser
from pytracking.cli.summary import show_results
from pytracking.cli.tracker_options import (
    add_tracker_options,
    add_visdom_options,
    apply_tracker_options,
    note_visdom,
    visdom_info,
)
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.running import RunReport, run_dataset
from pytracking.utils.notices import show_warnings_plainly


def run_tracker(
    tracker_name: str,
    tracker_param: str,
    run_id: int | None = None,
    dataset_name: str = "otb",
    sequence: str | int | None = None,
    debug: int = 0,
    threads: int = 0,
    visdom_info: dict[str, Any] | None = None,
    *,
    rerun: bool = False,
    overwrite: bool = False,
    **tracker_options: Any,
) -> RunReport:
    """Runs a tracker on a dataset or one of its sequences, and shows the scores; results that are there are kept.

    Args:
        tracker_name: folder in pytracking/tracker.
        tracker_param: file in pytracking/parameter/<tracker_name>.
        run_id: number of the run: chooses the seed and the result folder.
        dataset_name: a dataset's name or folder:PATH.
        sequence: one sequence, by name or by number.
        debug: debug level of the tracker.
        threads: worker processes; 0: in this one.
        visdom_info: as pytracking has it; a note says what takes Visdom's place.
        rerun: compute results again that are there already.
        overwrite: move results of other settings or data away first.
        tracker_options: ``network``, ``strict_weights`` and ``overrides`` of :class:`Tracker`.
    """
    note_visdom(visdom_info)
    tracker = Tracker(tracker_name, tracker_param, run_id, **tracker_options)
    sequences = select_sequences(get_dataset(dataset_name), sequence)
    report = run_dataset(sequences, [tracker], debug, threads, rerun=rerun, overwrite=overwrite)
    show_results(tracker, sequences)
    print(report.summary())
    return report


def select_sequences(dataset: SequenceList, sequence: str | int | None) -> SequenceList:
    """The whole dataset, or one of its sequences by name or number."""
    if sequence is None:
        return dataset
    if sequence in dataset.names:
        return SequenceList([dataset[sequence]])
    if str(sequence).isdecimal() and int(sequence) < len(dataset):
        return SequenceList([dataset[int(sequence)]])
    raise UserError(f"--sequence {sequence}: there is no such sequence; there are: {', '.join(dataset.names)}")


DESCRIPTION = "Run a tracker on a dataset, and show its scores; results that are there are kept."


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = CommandParser(description=DESCRIPTION, tracker_first=True)
    add_arguments(parser)
    return parser.parse_args(argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tracker_name", metavar="TRACKER", help=TRACKER_HELP)
    parser.add_argument("tracker_param", metavar="PARAMETERS", nargs="?", default="default", help=PARAMETERS_HELP)
    parser.add_argument("--run_id", type=int, help="number of the run: chooses seed and result folder")
    parser.add_argument("--dataset", default="otb", help="a dataset's name or folder:PATH (default: otb)")
    parser.add_argument("--sequence", help="one sequence, by name or by number")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: in this one (default)")
    parser.add_argument("--rerun", action="store_true", help="compute results again that are there already")
    parser.add_argument("--overwrite", action="store_true", help="move results of other settings or data away first")
    parser.add_argument("--results_path", help="folder of result files")
    add_tracker_options(parser)
    add_visdom_options(parser)


def run(args: argparse.Namespace) -> int:
    report = run_tracker(
        args.tracker_name,
        args.tracker_param,
        args.run_id,
        sequence=args.sequence,
        threads=args.workers,
        visdom_info=visdom_info(args),
        rerun=args.rerun,
        overwrite=args.overwrite,
        **apply_tracker_options(args),
        dataset_name=args.dataset,
    )
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    show_warnings_plainly()
    return exit_code(lambda: run(args), debug=args.debug > 0)


if __name__ == "__main__":
    sys.exit(main())
