"""Compares DiMP, DiMP*, BGD-DiMP, its moving averages, the step-length control and RLS-DiMP over several seeds.

    python benchmarks/dimp_compare.py --sequence lantern_long
    python benchmarks/dimp_compare.py --split real_validation --workers 2

Prints AUC and precision at 20 pixels: the mean over seeds with its 95 % interval, and RLS-DiMP against each other
learner, paired over sequences (over seeds, if there is one sequence). All learners see the same frames with the same
seeds. The parameter files are used unchanged. Boxes go to the usual result folders, shared with
`python -m experiments run mini`; existing results are kept, so a stopped run can be continued.
"""
from __future__ import annotations

import argparse
from pathlib import Path

from training_validation_table import SEQUENCES, validation_sequences

from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.statistics import mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import SequenceList
from pytracking.experiments.comparison import difference_table
from pytracking.utils.files import write_text

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
COMPARED = "RLS-DiMP"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="demo", help="dataset name, or folder:PATH")
    parser.add_argument("--split", help="use a split of ltr/dataset/splits instead, e.g. real_validation")
    parser.add_argument("--sequences", type=Path, default=SEQUENCES, help="folder of the split's sequences")
    parser.add_argument("--sequence", nargs="*", help="only these sequences")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--network", default="dimp_mobile", help="network; '' uses the one of each parameter file")
    parser.add_argument("--long-term", action="store_true", help="the paper's learning rates for long-term benchmarks")
    parser.add_argument("--trackers", nargs="*", help="only these rows of the table")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: this one, with all of torch's threads")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds must be at least 2: a single run has no interval")
    return args


def main() -> int:
    args = parse_arguments()
    apply_flags(results_path=args.results_path)
    rows = LONG_TERM if args.long_term else SHORT_TERM
    if args.trackers:
        rows = {label: names for label, names in rows.items() if label in args.trackers}
    found = validation_sequences(args.sequences, args.split, None) if args.split else get_dataset(args.dataset)
    sequences = SequenceList(s for s in found if not args.sequence or s.name in args.sequence)
    if not len(sequences) or not rows:
        raise SystemExit("error: no sequence or no tracker matches the selection")
    trackers = [
        Tracker(*names, seed, label, network=args.network or None)
        for label, names in rows.items()
        for seed in range(args.seeds)
    ]
    report = run_dataset(sequences, trackers, threads=args.workers)
    print(report.summary())
    if report.failures:
        return 1
    evaluation = evaluate(trackers, sequences)
    tables = [values_table(evaluation, args.seeds)]
    if COMPARED in rows and len(rows) > 1:
        tables.append(difference_table(evaluation, COMPARED))
    text = "\n\n".join(table.render("markdown") for table in tables) + "\n"
    print(text)
    if args.output:
        write_text(args.output, text)
    return 0


def values_table(evaluation: Evaluation, seeds: int) -> Table:
    """AUC and precision of each learner: mean and interval over seeds."""
    title = f"{', '.join(evaluation.names)}: {seeds} seeds, rule '{evaluation.rule.name}'"
    table = Table(title, ["learner", "AUC", "precision"])
    for scores in evaluation.trackers:
        summary = evaluation.summary(scores)
        columns = [Number(*mean_and_interval(values), 3) for values in (summary.auc, summary.precision)]
        table.rows.append([scores.name, *columns])
    table.notes.append("± : 95 % interval of the mean over seeds (Student's t)")
    return table


if __name__ == "__main__":
    raise SystemExit(main())
