"""``pytracking analyze DATASET TRACKER/PARAM ...``: scores result files and makes tables and plots."""
import argparse
import sys
from pathlib import Path

from ltr.errors import UserError
from pytracking.analysis import report
from pytracking.analysis.annotations import load_annotations
from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.plots import KINDS, save_plots
from pytracking.analysis.presence import presence_table
from pytracking.analysis.result_sets import ResultSet, as_result_sets, find_all_results, row_called
from pytracking.analysis.rules import DEFAULT_RULE, RULES, get_rule
from pytracking.analysis.scores import MEASURES
from pytracking.analysis.tables import FORMATS, Table
from pytracking.evaluation import SequenceList, get_dataset
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.evaluation.reference import RESULTS_FORM, join_words
from pytracking.evaluation.results import parameter_folders
from pytracking.utils.files import write_text
from pytracking.utils.names import file_stem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "evaluator rules:\n" + "\n".join(f"  {name:<12} {rule.summary}" for name, rule in RULES.items())
    parser.add_argument("dataset", help="name of a dataset, or folder:PATH")
    parser.add_argument("trackers", nargs="*", metavar="[NAME=]TRACKER", help=f"{RESULTS_FORM} (none: list results)")
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument("--rule", default=DEFAULT_RULE, choices=RULES, help=f"default: {DEFAULT_RULE}")
    scoring.add_argument("--gap", type=float, help="step between overlap thresholds (default: the rule's)")
    scoring.add_argument("--exclude-invalid", action="store_true", help="divide by the number of valid frames")
    scoring.add_argument("--missing", default="error", choices=("error", "skip"), help="sequences without results")
    scoring.add_argument(
        "--lengths", default="error", choices=("error", "rule"), help="too few or many rows: refuse, or follow the rule"
    )
    scoring.add_argument("--annotations", type=Path, help="folder of annotations, to score without frames")
    scoring.add_argument("--presence-threshold", type=float, help="oxuva: minimum score of a present target")
    tables = parser.add_argument_group("tables and plots")
    tables.add_argument("--per-run", action="store_true", help="one row per run")
    tables.add_argument("--per-sequence", action="store_true", help="also a table by sequence")
    tables.add_argument("--attributes", action="store_true", help="also a table by the benchmark's attributes")
    tables.add_argument("--measure", default="AUC", choices=MEASURES, help="measure in those tables (default: AUC)")
    tables.add_argument("--hard", metavar="NAME", help="only sequences where not all runs of NAME exceed 0.75 AUC")
    tables.add_argument("--versus", nargs=2, metavar=("NAME", "NAME"), help="also a paired test of two trackers")
    tables.add_argument("--plots", nargs="*", choices=KINDS, metavar="PLOT", help="save plots: success prec norm_prec")
    tables.add_argument("--format", default="text", choices=FORMATS, help="format of the tables (default: text)")
    tables.add_argument("--output", type=Path, help="write the tables to this file")
    tables.add_argument("--name", help="name of plots and title of tables (default: the dataset)")
    machine = parser.add_argument_group("files and machine")
    machine.add_argument("--results-path", type=Path, help="folder of result files")
    machine.add_argument("--plot-path", type=Path, help="folder of plots")
    machine.add_argument("--workers", type=int, help="number of processes (default: one per core)")
    machine.add_argument("--no-cache", action="store_true", help="score every file again")


def run(args: argparse.Namespace) -> int:
    args.trackers = join_words(args.trackers)
    apply_flags(results_path=args.results_path, result_plot_path=args.plot_path)
    if not args.trackers:
        return _list_results(env_settings().results_path)
    sequences = load_annotations(args.annotations, args.dataset) if args.annotations else get_dataset(args.dataset)
    results = find_all_results(args.trackers, env_settings().results_path)
    rows = _rows(args, results)
    if sequences[0].dataset == "oxuva":
        _show([presence_table(results, sequences, args.presence_threshold, args.dataset)], args)
        return 0
    evaluation = _evaluate(args, results, sequences, rows)
    _show(_tables(args, evaluation, rows), args)
    if args.plots is not None:
        stem = file_stem(args.name or args.dataset) + ("_hard" if args.hard else "")
        for path in save_plots(evaluation, stem, args.plots or KINDS):
            print(f"plot: {path}")
    return 0


def _rows(args: argparse.Namespace, results: list[ResultSet]) -> dict[str, str]:
    """Maps the names given to --hard and --versus to rows of the tables."""
    names = [*(args.versus or ()), *([args.hard] if args.hard else [])]
    rows = as_result_sets(results, merge=not args.per_run)
    return {name: row_called(name, rows, dict(zip(args.trackers, results, strict=True))) for name in names}


def _evaluate(
    args: argparse.Namespace, results: list[ResultSet], sequences: SequenceList, rows: dict[str, str]
) -> Evaluation:
    evaluation = evaluate(
        results,
        sequences,
        get_rule(args.rule, gap=args.gap, exclude_invalid=True if args.exclude_invalid else None),
        merge=not args.per_run,
        missing=args.missing,
        lengths=args.lengths,
        workers=args.workers,
        cache=not args.no_cache,
        progress=sys.stderr.isatty(),
    )
    if args.hard is None:
        return evaluation
    hard = report.hard_sequences(evaluation, rows[args.hard])
    if not hard.sequences:
        raise UserError(f"--hard: every run of '{args.hard}' exceeds an AUC of 0.75 on all sequences")
    return hard


def _tables(args: argparse.Namespace, evaluation: Evaluation, rows: dict[str, str]) -> list[Table]:
    name = (args.name or args.dataset) + (f", hard sequences of {args.hard}" if args.hard else "")
    tables = [report.overall_table(evaluation, name)]
    if args.per_sequence:
        order = "gap" if len(evaluation.trackers) > 1 else "name"
        tables.append(report.per_sequence_table(evaluation, f"{name}: {args.measure}", args.measure, order))
    if args.attributes:
        tables.append(report.attribute_table(evaluation, f"{name}: {args.measure} by attribute", args.measure))
    if args.versus:
        first, second = (rows[name] for name in args.versus)
        tables.append(report.head_to_head_table(evaluation, first, second, args.measure))
    return tables


def _show(tables: list[Table], args: argparse.Namespace) -> None:
    text = "\n\n".join(table.render(args.format) for table in tables)
    if args.output:
        write_text(args.output, text.rstrip("\n") + "\n")
        print(f"table: {args.output}")
    else:
        print(text)


def _list_results(root: Path) -> int:
    folders = sorted(root.iterdir()) if root.is_dir() else []
    found = [f"{folder.name}/{param}" for folder in folders for param in parameter_folders(folder)]
    if not found:
        print(f"no results in {root}; `pytracking run` makes some", file=sys.stderr)
        return 2
    print("\n".join(found))
    return 0
