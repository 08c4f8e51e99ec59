"""Runs a tracker on a dataset, and shows its scores: ``python pytracking/run_tracker.py rls_dimp default``."""
from __future__ import annotations

import argparse
import ast
import sys
import warnings
from pathlib import Path
from typing import Any

from pytracking.analysis.scores import score_sequence, summarise
from pytracking.evaluation import Sequence, SequenceList, Tracker, get_dataset
from pytracking.evaluation.environment import ConfigError, MissingPathError, apply_flags
from pytracking.evaluation.pictures import contact_sheet
from pytracking.evaluation.results import boxes_file, is_complete, read_boxes, read_times, times_file
from pytracking.evaluation.run_record import ChangedRunError
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.tracker import FallbackWeightsWarning, MissingWeightsError
from pytracking.utils.image_io import write_image

RULE = "strict"
SHEET_ROWS = 12  # a contact sheet of more sequences is too long to look at
# What the user can mend: shown as one message, without a traceback.
USER_ERRORS = (ChangedRunError, ConfigError, MissingPathError, MissingWeightsError, ValueError, OSError, AttributeError)


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
    parser.add_argument("--strict_weights", action="store_true", help="fail where the paper's network is not found")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--network_path", help="folder of network weights")
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


def score_table(tracker: Tracker, sequences: list[Sequence]) -> str:
    """Scores and speed of the results on disk, a line a sequence and one for all."""
    lines = [f"{'sequence':<28} {'frames':>6} {'AUC':>6} {'P@20':>6} {'nP@.2':>6} {'fps':>8}"]
    scored, frames, seconds = [], 0, 0.0
    for sequence in sequences:
        boxes = read_boxes(boxes_file(tracker.results_dir, sequence.name))
        speed = f"{'-':>8}"
        if times_file(tracker.results_dir, sequence.name).exists():
            times = read_times(times_file(tracker.results_dir, sequence.name))
            frames, seconds = frames + len(times), seconds + times.sum()
            speed = f"{len(times) / max(times.sum(), 1e-9):8.1f}"
        numbers = f"{'-':>6} {'-':>6} {'-':>6}"
        if len(sequence.ground_truth_rect) == len(sequence):
            scores = score_sequence(boxes, sequence.ground_truth_rect, RULE, visible=sequence.target_visible)
            scored.append(scores)
            numbers = _numbers([scores])
        lines.append(f"{sequence.name:<28} {len(sequence):6d} {numbers} {speed}")
    if scored:
        total = sum(len(sequence) for sequence in sequences)
        speed = f"{frames / max(seconds, 1e-9):8.1f}" if frames else f"{'-':>8}"
        lines += ["-" * len(lines[0]), f"{'mean of sequences':<28} {total:6d} {_numbers(scored)} {speed}"]
        lines.append(f"rule '{RULE}': AUC, precision at 20 px, normalised precision at 0.2 (target visible)")
    return "\n".join(lines)


def _numbers(scores: list) -> str:
    summary = summarise(scores, RULE)
    return " ".join(f"{float(x):6.3f}" for x in (summary.auc, summary.precision, summary.normalised_precision))


def save_sheet(tracker: Tracker, sequences: list[Sequence]) -> Path:
    """A picture with frames of the first sequences, the annotation and the tracker's boxes."""
    boxes = {s.name: read_boxes(boxes_file(tracker.results_dir, s.name)) for s in sequences[:SHEET_ROWS]}
    path = tracker.results_dir / "contact_sheet.jpg"
    write_image(path, contact_sheet(sequences[:SHEET_ROWS], boxes))
    return path


def run(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    overrides = parse_overrides(args.set) | ({"device": args.device} if args.device else {})
    tracker = Tracker(args.tracker_name, args.tracker_param, args.runid, strict_weights=args.strict_weights)
    sequences = select_sequences(get_dataset(args.dataset_name), args.sequence)
    report = run_dataset(
        sequences, [tracker], args.threads, debug=args.debug, rerun=args.rerun, overrides=overrides
    )
    done = [s for s in sequences if is_complete(tracker.results_dir, s.name, len(s))]
    if done:
        print(f"\n{tracker.display_name} on {args.dataset_name}\n{score_table(tracker, done)}")
        print(f"picture: {save_sheet(tracker, done)} (green: annotation, orange: tracker)")
    print(f"results: {tracker.results_dir}\n{report.summary()}")
    return 1 if report.failures else 0


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    warnings.showwarning = _show_warning
    try:
        return run(args)
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except USER_ERRORS as error:
        if args.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


def _show_warning(message, category, *details, **more) -> None:
    if category is FallbackWeightsWarning:
        print(f"NOTE: {message}", file=sys.stderr)
    else:
        print(f"{category.__name__}: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
