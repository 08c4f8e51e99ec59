"""``pytracking show demo``: draws a contact sheet of a dataset."""
import argparse
import sys
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.pictures import contact_sheet
from pytracking.evaluation.reference import FORM, TrackerReference
from pytracking.evaluation.results import boxes_file, read_boxes
from pytracking.utils.image_io import write_image

MOST_ROWS = 20  # of a sheet, without --sequence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help="name of a dataset, or folder:PATH")
    parser.add_argument("--sequence", action="append", help="only this sequence (may be given several times)")
    parser.add_argument("--tracker", nargs="+", metavar="TRACKER", help=f"also draw the results of {FORM}")
    parser.add_argument("--columns", type=int, default=6, help="frames per sequence (default: 6)")
    parser.add_argument("--width", type=int, default=240, help="width of each frame in pixels (default: 240)")
    parser.add_argument("--output", type=Path, help="file to write (default: <dataset>.jpg in result_plot_path)")


def run(args: argparse.Namespace) -> int:
    if args.columns < 1 or args.width < 32:
        raise UserError("--columns must be at least 1 and --width at least 32")
    sequences = _select(get_dataset(args.dataset), args.sequence)
    boxes = _results(" ".join(args.tracker), sequences) if args.tracker else None
    name = Path(args.dataset.removeprefix("folder:")).name or "dataset"
    output = args.output or env_settings().result_plot_path / f"{name}.jpg"
    write_image(output, contact_sheet(sequences, boxes, columns=args.columns, width=args.width))
    for sequence in sequences:
        absent = "" if sequence.target_visible is None else f", absent in {int((~sequence.target_visible).sum())}"
        challenges = ", ".join(sequence.attributes.get("challenges", []))
        print(f"{sequence.name:<24} {len(sequence):5d} frames{absent:<15} {challenges}")
    print(f"picture: {output}")
    return 0


def _select(dataset: SequenceList, names: list[str] | None) -> SequenceList:
    if names:
        return SequenceList(dataset[name] for name in names)
    if len(dataset) > MOST_ROWS:
        shown = f"showing the first {MOST_ROWS} of {len(dataset)} sequences"
        print(f"{shown}; choose others with --sequence", file=sys.stderr)
    return dataset[:MOST_ROWS]


def _results(text: str, sequences: SequenceList) -> dict[str, np.ndarray]:
    reference = TrackerReference.parse(text)
    tracker = Tracker(reference.tracker, reference.parameters, reference.run, network=reference.network)
    files = {sequence.name: boxes_file(tracker.results_dir, sequence.name) for sequence in sequences}
    found = {name: read_boxes(path) for name, path in files.items() if path.exists()}
    if not found:
        raise FileNotFoundError(f"no results of {tracker.display_name} on these sequences in {tracker.results_dir}")
    return found
