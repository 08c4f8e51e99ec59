"""``pytracking vot init | run | report``: creates, runs and scores workspaces of the official VOT toolkit."""
import argparse
import sys
from pathlib import Path

from ltr.errors import UserError
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.evaluation.reference import join_words

EXAMPLES = """examples:
  vot init ws --stack vot2018/shortterm --sequences ~/vot2018 --trackers rls_dimp/vot18 dimp/dimp50_vot18
  vot run ws                                   through TraX, like the toolkit
  vot run ws --runner inprocess --workers 4    the same results, networks loaded once per worker
  vot report ws
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(dest="action", required=True, metavar="init|run|report")
    _add_init(actions.add_parser("init", help="create a workspace, or add trackers to one"))
    _add_run(actions.add_parser("run", help="evaluate the trackers of a workspace"))
    _add_report(actions.add_parser("report", help="show A, R, R_S, EAO and rtEAO of each tracker"))


def run(args: argparse.Namespace) -> int:
    from pytracking.vot_integration.toolkit import require_toolkit

    require_toolkit()
    return {"init": _init, "run": _run, "report": _report}[args.action](args)


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="the workspace")
    parser.add_argument("--stack", help="e.g. vot2018/shortterm, or a .yaml of your own")
    parser.add_argument("--trackers", nargs="+", default=[], metavar="TRACKER", help="e.g. rls_dimp/vot18")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--sequences", type=Path, metavar="PATH", help="folder of sequences, VOT or OTB layout")
    parser.add_argument(
        "--origin", type=int, choices=(0, 1), default=0, help="number of the first pixel in --sequences (default: 0)"
    )
    source.add_argument("--dataset", metavar="NAME", help="a dataset of this project, e.g. demo or otb")
    source.add_argument("--download", action="store_true", help="let the toolkit download the stack's dataset")
    parser.add_argument("--repetitions", type=int, metavar="N", help="instead of the stack's (15)")
    parser.add_argument("--eao-interval", type=int, nargs=2, metavar=("LOW", "HIGH"), help="instead of the stack's")
    parser.add_argument("--timeout", type=int, metavar="S", help="seconds the toolkit waits for an answer (600)")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("trackers", nargs="*", metavar="TRACKER", help="names from trackers.ini (default: all)")
    parser.add_argument("--experiments", nargs="+", default=[], metavar="NAME", help="of the stack (default: all)")
    parser.add_argument("--runner", choices=("trax", "inprocess"), default="trax", help="default: trax")
    parser.add_argument("--workers", type=int, default=1, help="worker processes; 0: run in this one (default: 1)")
    add_computing_options(parser)
    parser.add_argument("--force", action="store_true", help="compute existing results again")
    parser.add_argument("--persist", action="store_true", help="continue after a failure")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("trackers", nargs="*", metavar="TRACKER", help="names from trackers.ini (default: all)")
    parser.add_argument("--format", choices=("text", "markdown", "latex", "csv"), default="text")
    parser.add_argument(
        "--partial", action="store_true", help="score the existing repetitions if the stack asks for more"
    )
    parser.add_argument("--name", default="report", help="folder below DIR/reports for report.json and eao.png")


def _init(args: argparse.Namespace) -> int:
    from pytracking.evaluation import get_dataset
    from pytracking.vot_integration import workspace as workspaces
    from pytracking.vot_integration.sequences import find_sequences, from_dataset
    from pytracking.vot_integration.trackers import TrackerSpec

    trackers = [TrackerSpec.parse(text) for text in join_words(args.trackers)]
    timeout = args.timeout or workspaces.DEFAULT_TIMEOUT
    has_source = bool(args.sequences or args.dataset or args.download)
    if workspaces.is_workspace(args.folder) and not has_source and args.stack is None:
        workspaces.add_trackers(args.folder, trackers, timeout=timeout)
    else:
        if args.stack is None or not has_source:
            raise workspaces.WorkspaceError(
                "a new workspace needs --stack and one of --sequences PATH, --dataset NAME, --download "
                "(nothing is downloaded unless you ask for it)"
            )
        if args.origin and not args.sequences:
            raise UserError("--origin only applies to --sequences; this project's datasets have their own")
        sources = None
        if args.sequences:
            sources = find_sequences(args.sequences, args.origin)
        elif args.dataset:
            sources = from_dataset(get_dataset(args.dataset))
        changes = workspaces.StackChanges(args.repetitions, tuple(args.eao_interval) if args.eao_interval else None)
        left_out = workspaces.create_workspace(
            args.folder, args.stack, trackers, sources, changes=changes, timeout=timeout
        )
        if left_out:
            print(f"left out, because the target is absent in some frames: {', '.join(left_out)}")
    names = ", ".join(spec.identifier for spec in trackers) or "no trackers"
    print(f"{args.folder}: {names}")
    return 0


def _run(args: argparse.Namespace) -> int:
    from pytracking.vot_integration.running import run_workspace

    apply_computing_options(args)
    report = run_workspace(
        args.folder,
        args.trackers,
        experiments=args.experiments,
        engine=args.runner,
        threads=args.workers,
        force=args.force,
        persist=args.persist,
    )
    print(report.summary())
    return 1 if report.failures else 0


def _report(args: argparse.Namespace) -> int:
    from pytracking.vot_integration.report import make_report
    from pytracking.vot_integration.tables import draw_eao_curves, report_table

    report = make_report(args.folder, args.trackers, partial=args.partial)
    folder = Path(args.folder) / "reports" / args.name
    report.write_json(folder / "report.json")
    print(report_table(report).render(args.format))
    if any(row.eao_curve for row in report.rows):
        draw_eao_curves(report, folder / "eao.png")
    print(f"\nwritten: {folder}", file=sys.stderr)
    return 0
