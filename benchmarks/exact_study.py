"""Tracking with the exact learner, RLS, gradient descent of the same step length, and DiMP, over several seeds.

    python benchmarks/exact_study.py run [--seeds 5] [--only demo|real]
    python benchmarks/exact_study.py report

The sequences are those of ltr/dataset/splits/real_validation.txt, on which nothing is tuned, and the demo's. ``run``
iterates over seeds, then sequences from the shortest on, then learners, so that partial results are balanced; existing
results are kept. ``report`` includes a seed of a sequence if all learners have finished it.
"""
from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
from training_validation_table import SEQUENCES, validation_sequences

from pytracking.analysis.evaluate import evaluate
from pytracking.analysis.statistics import compare_paired
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.files import write_text

LEARNERS = {
    "exact": ("rls_dimp", "exact"),
    "RLS-DiMP": ("rls_dimp", "default"),
    "BGD-DiMP matched": ("dimp", "bgd_matched"),
    "DiMP": ("dimp", "dimp50"),
}
MEASURES = {"auc": "AUC", "precision": "precision"}


def sequences_of(root: Path, only: str | None) -> list[Sequence]:
    """The real and the demo sequences, or ``only`` one kind, shortest first."""
    real = [] if only == "demo" else validation_sequences(root, "real_validation", None)
    demo = [] if only == "real" else list(get_dataset("demo"))
    return sorted([*real, *demo], key=len)


def trackers_of(seed: int, network: str) -> list[Tracker]:
    """Every learner, with this seed."""
    return [Tracker(*names, seed, label, network=network) for label, names in LEARNERS.items()]


def run(args: argparse.Namespace) -> int:
    """Tracks what has no results yet."""
    for seed in range(args.seeds):
        for sequence in sequences_of(args.sequences, args.only):
            report = run_dataset([sequence], trackers_of(seed, args.network), progress=False)
            print(f"seed {seed} {sequence.name}: {report.summary()}", flush=True)
            if report.failures:
                return 1
    return 0


def complete(sequence: Sequence, seed: int, network: str) -> bool:
    """Whether all learners have tracked a sequence with a seed."""
    return all((tracker.results_dir / f"{sequence.name}.txt").is_file() for tracker in trackers_of(seed, network))


def scores_of(sequences: list[Sequence], seeds: int, network: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names (n,), scores (learners, measures, n) averaged over complete seeds, and how many seeds are complete (n,)."""
    names, values, counts = [], [], []
    for sequence in sequences:
        done = [seed for seed in range(seeds) if complete(sequence, seed, network)]
        if not done:
            continue
        trackers = [tracker for seed in done for tracker in trackers_of(seed, network)]
        found = evaluate(sorted(trackers, key=lambda each: list(LEARNERS).index(each.display_name)), [sequence])
        rows = [[found.sequence_scores(found.tracker(label), m).mean() for m in MEASURES] for label in LEARNERS]
        names.append(sequence.name)
        values.append(rows)
        counts.append(len(done))
    shaped = np.reshape(values, (len(names), len(LEARNERS), len(MEASURES)))
    return names, shaped.transpose(1, 2, 0), np.array(counts)


def table(title: str, names: list[str], values: np.ndarray, counts: np.ndarray) -> Table:
    """Means over sequences, and exact minus each other learner, paired over sequences."""
    seeds = f"{counts.min()} to {counts.max()} seeds" if np.ptp(counts) else f"{counts[0]} seeds"
    header = ["", "AUC", "precision", "exact minus it, AUC", "95 %", "better on", "p"]
    result = Table(f"{title}: {len(names)} sequences, {seeds}", header)
    for place, label in enumerate(LEARNERS):
        cells = [f"{values[place, measure].mean():.3f}" for measure in range(2)]
        if label == "exact":
            cells += ["", "", "", ""]
        else:
            gap = compare_paired(values[0, 0], values[place, 0])
            cells += [f"{gap.difference:+.3f}", gap.interval, f"{gap.wins} of {len(names)}", f"{gap.p_value:.3f}"]
        result.rows.append([label, *cells])
    return result


def by_sequence(names: list[str], values: np.ndarray, counts: np.ndarray) -> Table:
    """AUC of each learner on each sequence."""
    result = Table("AUC", ["sequence", "seeds", *LEARNERS])
    for place, name in enumerate(names):
        cells = [Number(float(value), decimals=3) for value in values[:, 0, place]]
        result.rows.append([name, int(counts[place]), *cells])
    return result


def report(args: argparse.Namespace) -> int:
    """Prints the tables of all complete results."""
    weights = trackers_of(0, args.network)[0].weights
    digest = hashlib.sha256(weights.file.read_bytes()).hexdigest()
    parts = [f"Network {weights.name}, sha256 {digest[:16]}…"]
    columns = []
    for kind in ("real", "demo"):
        found = scores_of(sequences_of(args.sequences, kind), args.seeds, args.network)
        if found[0]:
            columns.append(found)
            parts.append(table({"real": "real sequences", "demo": "demo"}[kind], *found).render("markdown"))
    if not columns:
        raise SystemExit("error: no complete results yet; create them with: benchmarks/exact_study.py run")
    names, values, counts = zip(*columns, strict=True)
    everything = sum(names, []), np.concatenate(values, axis=-1), np.concatenate(counts)
    parts += [each.render("markdown") for each in (table("all", *everything), by_sequence(*everything))]
    parts.append(
        "Intervals: 95 %, bootstrap over sequences, of means over seeds; p: sign flips over sequences. The three "
        "comparisons on each set are not corrected: by Bonferroni's rule an overall level of 5 % would need p < 0.017."
    )
    text = "\n\n".join(parts) + "\n"
    print(text)
    if args.output:
        write_text(args.output, text)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("real", "demo"), help="run only these sequences")
    parser.add_argument("--network", default="dimp_mobile")
    parser.add_argument("--sequences", type=Path, default=SEQUENCES, help="folder of the real sequences")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    args = parser.parse_args()
    apply_flags(results_path=args.results_path)
    return {"run": run, "report": report}[args.command](args)


if __name__ == "__main__":
    raise SystemExit(main())
