"""DiMP, DiMP*, BGD-DiMP, its moving averages, the step-length control and RLS-DiMP, over several seeds.

    python benchmarks/dimp_compare.py --dataset demo --seeds 5
    python benchmarks/dimp_compare.py --dataset folder:PATH --sequence Jogging-1 --network dimp_mobile --csv out.csv

Prints AUC and precision at 20 pixels: the mean over seeds with its 95 % interval, and for every learner the paired
difference from BGD-DiMP over seeds. All learners see the same frames with the same seeds. Nothing is tuned here: the
parameter files are run as they are.
"""
from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from tqdm import tqdm

from pytracking.analysis.scores import score_sequence, summarise
from pytracking.analysis.statistics import mean_and_interval
from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import track_sequence

SHORT_TERM = {
    "DiMP": ("dimp", "dimp50"),
    "DiMP*": ("dimp", "dimp50_star"),
    "BGD-DiMP": ("dimp", "bgd"),
    "BGD-DiMP sm": ("dimp", "bgd_ema_slow"),
    "BGD-DiMP mm": ("dimp", "bgd_ema_moderate"),
    "BGD-DiMP fm": ("dimp", "bgd_ema_fast"),
    "BGD-DiMP matched": ("dimp", "bgd_matched"),
    "RLS-DiMP": ("rls_dimp", "default"),
    "RLS-DiMP released": ("rls_dimp", "reference"),
    "RLS-DiMP block": ("rls_dimp", "block"),
}
LONG_TERM = {
    "DiMP": ("dimp", "dimp50"),
    "DiMP*": ("dimp", "dimp50_star"),
    "BGD-DiMP": ("dimp", "bgd_long_term"),
    "BGD-DiMP sm": ("dimp", "bgd_ema_slow_long_term"),
    "BGD-DiMP mm": ("dimp", "bgd_ema_moderate_long_term"),
    "BGD-DiMP fm": ("dimp", "bgd_ema_fast_long_term"),
    "BGD-DiMP matched": ("dimp", "bgd_matched_long_term"),
    "RLS-DiMP": ("rls_dimp", "long_term"),
    "RLS-DiMP released": ("rls_dimp", "reference_long_term"),
}
BASELINE = "BGD-DiMP"
RULE = "strict"  # of pytracking.analysis: frames in which the target is visible, sequences weigh the same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="demo", help="dataset name, or folder:PATH")
    parser.add_argument("--sequence", nargs="*", help="only these sequences")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--network", help="network to run on, e.g. dimp_mobile; by default the parameter files' own")
    parser.add_argument("--long-term", action="store_true", help="the paper's learning rates for long-term benchmarks")
    parser.add_argument("--trackers", nargs="*", help="only these rows of the table")
    parser.add_argument("--max-frames", type=int, help="only the first frames of each sequence")
    parser.add_argument("--csv", type=Path, help="write every run's numbers here")
    args = parser.parse_args()
    rows = {k: v for k, v in (LONG_TERM if args.long_term else SHORT_TERM).items() if k in (args.trackers or [k])}
    sequences = [s for s in get_dataset(args.dataset) if not args.sequence or s.name in args.sequence]
    if not sequences or not rows:
        parser.error("nothing to run: no such sequence or tracker")
    runs = {}
    frames = sum(min(len(s), args.max_frames or len(s)) for s in sequences)
    with tqdm(total=frames * len(rows) * args.seeds, unit="frame") as bar:
        for label, (name, param) in rows.items():
            tracker = Tracker(name, param, network=args.network).create_tracker({"device": "cpu"})
            for seed in range(args.seeds):
                runs[label, seed] = [run(tracker, s, seed, args.max_frames, bar) for s in sequences]
    print_table(rows, runs, args.seeds, [s.name for s in sequences])
    if args.csv:
        write_csv(args.csv, runs, [s.name for s in sequences])


def run(tracker, sequence: Sequence, seed: int, most: int | None, bar: tqdm):
    """Scores of one tracker on one sequence."""
    if most and most < len(sequence):
        visible = sequence.target_visible
        sequence = Sequence(
            sequence.name,
            sequence.frames[:most],
            sequence.dataset,
            sequence.ground_truth_rect[:most],
            target_visible=None if visible is None else visible[:most],
        )
    bar.set_postfix_str(f"{sequence.name}, seed {seed}")
    output = track_sequence(tracker, sequence, seed=seed, progress=lambda done: bar.update(1))
    return score_sequence(output.boxes, sequence.ground_truth_rect, RULE, visible=sequence.target_visible)


def print_table(rows: dict, runs: dict, seeds: int, names: list[str]) -> None:
    auc, precision = {}, {}
    for label in rows:
        summaries = [summarise(runs[label, seed], RULE) for seed in range(seeds)]
        auc[label] = np.array([float(s.auc) for s in summaries])
        precision[label] = np.array([float(s.precision) for s in summaries])
    print(f"{len(names)} sequences ({', '.join(names)}), {seeds} seeds, rule '{RULE}'")
    print(f"{'':<20} {'AUC':>16} {'precision':>16} {'AUC - ' + BASELINE:>20}")
    for label in rows:
        difference = auc[label] - auc.get(BASELINE, np.nan)
        columns = [mean_and_interval(values) for values in (auc[label], precision[label], difference)]
        text = [f"{mean:.3f} +- {half:.3f}" for mean, half in columns[:2]]
        text.append("" if label == BASELINE else "{:+.4f} +- {:.4f}".format(*columns[2]))
        print(f"{label:<20} {text[0]:>16} {text[1]:>16} {text[2]:>20}")


def write_csv(path: Path, runs: dict, names: list[str]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["tracker", "seed", "sequence", "auc", "precision"])
        for (label, seed), scores in runs.items():
            for name, each in zip(names, scores, strict=True):
                one = summarise([each], RULE)
                writer.writerow([label, seed, name, f"{float(one.auc):.5f}", f"{float(one.precision):.5f}"])


if __name__ == "__main__":
    main()
