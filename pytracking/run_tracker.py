"""Runs a tracker on a dataset and shows its scores: ``python pytracking/run_tracker.py rls_dimp default``."""
import argparse
import sys
from typing import Any

from ltr.errors import UserError
from pytracking.cli import tracker_options as options
from pytracking.cli.commands import command_parser, run_command
from pytracking.cli.summary import show_results
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.running import RunReport, run_dataset


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
    """Runs a tracker on a dataset or one of its sequences and shows the scores; existing results are kept.

    Args:
        run_id: number of the run, which selects the seed and the result folder.
        sequence: one sequence, by name or by number.
        visdom_info: accepted as in pytracking; a note says what replaces Visdom.
        tracker_options: ``network``, ``strict_weights`` and ``overrides`` of :class:`Tracker`.
    """
    options.note_visdom(visdom_info)
    tracker = Tracker(tracker_name, tracker_param, run_id, **tracker_options)
    sequences = select_sequences(get_dataset(dataset_name), sequence)
    report = run_dataset(sequences, [tracker], debug, threads, rerun=rerun, overwrite=overwrite)
    show_results(tracker, sequences)
    print(report.summary())
    return report


def select_sequences(dataset: SequenceList, sequence: str | int | None) -> SequenceList:
    """Returns the whole dataset, or one of its sequences by name or number."""
    if sequence is None:
        return dataset
    if sequence in dataset.names:
        return SequenceList([dataset[sequence]])
    if str(sequence).isdecimal() and int(sequence) < len(dataset):
        return SequenceList([dataset[int(sequence)]])
    raise UserError(f"--sequence {sequence}: there is no such sequence; there are: {', '.join(dataset.names)}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_tracker_arguments(parser, nargs="?", default="default")
    parser.add_argument("--run_id", type=int, help="number of the run; selects the seed and the result folder")
    parser.add_argument("--dataset", default="otb", help="name of a dataset, or folder:PATH (default: otb)")
    parser.add_argument("--sequence", help="one sequence, by name or by number")
    options.add_running_options(parser)
    options.add_tracker_options(parser)


def run(args: argparse.Namespace) -> int:
    report = run_tracker(
        args.tracker_name,
        args.tracker_param,
        args.run_id,
        sequence=args.sequence,
        threads=args.workers,
        rerun=args.rerun,
        overwrite=args.overwrite,
        **options.apply_tracker_options(args),
        dataset_name=args.dataset,
    )
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    return run_command(command_parser("run", script=True), run, argv)


if __name__ == "__main__":
    sys.exit(main())
