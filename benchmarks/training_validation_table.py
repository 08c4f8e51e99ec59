"""Compares the bundled networks with their baselines and OpenCV's trackers on the real validation sequences.

    python benchmarks/training_validation_table.py [--sequences FOLDER] [--network-path FOLDER] [--trackers rls_dimp …]

Prints AUC of success, precision at 20 pixels, normalised precision and frames per second of every tracker, the first
tracker's difference from each other with its 95 % bootstrap interval over sequences, and AUC on every sequence;
--output writes the tables as Markdown. The sequences are those of ltr/dataset/splits/real_validation.txt, on which
dimp_mobile was not trained; its halves are validation_a and validation_b. NanoTrack and VitTrack need their ONNX files
in --network-path.
"""
from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

import numpy as np

from ltr.dataset.split import read_split
from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.statistics import compare_paired
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.datasets.folder import load_sequence
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker, trackerlist
from pytracking.utils.files import write_text

SEQUENCES = Path(__file__).resolve().parents[2] / "shared" / "sequences"
TRACKERS = {
    "rls_dimp": ("rls_dimp", "default"),
    "dimp": ("dimp", "dimp50"),
    "dimp_bgd": ("dimp", "bgd"),
    "rls_rtmdnet": ("rls_rtmdnet", "default"),
    "rtmdnet": ("rtmdnet", "rtmdnet"),
    "csrt": ("opencv", "csrt"),
    "kcf": ("opencv", "kcf"),
    "nano": ("opencv", "nano"),
    "nano3": ("nanotrack", "v3"),
    "vit": ("opencv", "vit"),
}


def validation_sequences(root: Path, split: str, most_frames: int | None) -> list[Sequence]:
    """The split's sequences, boxes counted from 0."""
    sequences, names = [], read_split(split)
    for name in names:
        folder = root / name
        if not folder.is_dir():
            raise SystemExit(f"error: {folder} does not exist; set the folder of the real sequences with --sequences")
        sequence = load_sequence(folder, name.split("/")[0], origin=names.origins[name])
        frames = sequence.frames[:most_frames]
        boxes = np.array(sequence.ground_truth_rect, dtype=np.float64)[: len(frames)]
        sequences.append(Sequence(sequence.name, frames, sequence.dataset, boxes))
    return sequences


def runs_of(name: str, runs: int) -> list[Tracker]:
    """A tracker once per seed; trackers without randomness run once."""
    folder, parameters = TRACKERS[name]
    seeded = folder not in ("opencv", "nanotrack") and runs > 1
    return trackerlist(folder, parameters, range(runs) if seeded else None, display_name=name)


def table(evaluation: Evaluation) -> Table:
    """One row per tracker, best AUC first."""
    rows = []
    for scores in evaluation.trackers:
        summary = evaluation.summary(scores)
        measures = (summary.auc, summary.precision, summary.normalised_precision)
        numbers = [Number(float(np.mean(value)), decimals=3) for value in measures]
        rows.append([scores.name, *numbers, Number(scores.frames_per_second, decimals=1)])
    rows.sort(key=lambda row: -row[1].value)
    return Table("all sequences", ["tracker", "AUC", "precision", "norm. precision", "frames/s"], rows)


def differences(evaluation: Evaluation) -> Table:
    """The first tracker's AUC minus each other's, paired over sequences."""
    first, *others = evaluation.trackers
    result = Table(f"{first.name} minus another", ["other", "AUC", "95 % interval", "better on", "p"])
    for other in others:
        gap = compare_paired(*(evaluation.sequence_scores(scores).mean(axis=0) for scores in (first, other)))
        interval = f"{gap.low:+.3f} … {gap.high:+.3f}"
        result.rows.append([other.name, f"{gap.difference:+.3f}", interval, gap.wins, Number(gap.p_value, decimals=3)])
    return result


def table_by_sequence(evaluation: Evaluation) -> Table:
    """AUC of every tracker on every sequence."""
    result = Table("AUC", ["sequence", *(scores.name for scores in evaluation.trackers)])
    columns = [evaluation.sequence_scores(scores).mean(axis=0) for scores in evaluation.trackers]
    for place, name in enumerate(evaluation.names):
        result.rows.append([name, *(Number(float(column[place]), decimals=3) for column in columns)])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=Path, default=SEQUENCES, help="folder of <benchmark>/<sequence>")
    parser.add_argument("--split", default="real_validation", help="split file of ltr/dataset/splits, or a .txt file")
    parser.add_argument("--frames", type=int, help="use only this many frames at the start of each sequence")
    parser.add_argument("--trackers", nargs="+", choices=list(TRACKERS), default=list(TRACKERS))
    parser.add_argument("--runs", type=int, default=1, help="runs with different seeds, for trackers that use one")
    parser.add_argument("--results", type=Path, default=Path("training/validation_results"))
    parser.add_argument("--network-path", type=Path, help="folder of additional networks, such as OpenCV's ONNX files")
    parser.add_argument("--threads", type=int, default=0, help="worker processes; more than 0 makes speeds unreliable")
    parser.add_argument("--rerun", action="store_true", help="replace existing results")
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    args = parser.parse_args()
    os.environ["PYTRACKING_RESULTS_PATH"] = str(args.results.resolve())
    if args.network_path:
        os.environ["PYTRACKING_NETWORK_PATH"] = str(args.network_path.resolve())

    sequences = validation_sequences(args.sequences, args.split, args.frames)
    trackers = [tracker for name in args.trackers for tracker in runs_of(name, args.runs)]
    report = run_dataset(sequences, trackers, threads=args.threads, rerun=args.rerun)
    print(report.summary())
    evaluation = evaluate(trackers, sequences, cache=False)
    frames = sum(len(sequence.frames) for sequence in sequences)
    head = f"{len(sequences)} sequences, {frames} frames, {platform.machine()}, {os.cpu_count()} cores"
    tables = table(evaluation), differences(evaluation), table_by_sequence(evaluation)
    text = "\n\n".join([head, *(each.render("markdown") for each in tables)]) + "\n"
    print(text)
    if args.output:
        write_text(args.output, text)
    return 1 if report.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
