"""Options of every command that creates a tracker: parameters, network, device, engine and threads."""
import argparse
import ast
import sys
from typing import Any

from ltr.errors import UserError
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.evaluation.environment import apply_flags

TRACKER_HELP = "tracker/parameters[@network][#run], e.g. rls_dimp/default; or as two words"
PARAMETERS_HELP = "parameter file, if written as a separate word"
VISDOM_OPTIONS = ("use_visdom", "visdom_server", "visdom_port")  # of pytracking's scripts: accepted, with a note
VISDOM = "Visdom is not used here: --debug writes views as files, and `pytracking serve` shows tracking in the browser"


def add_tracker_arguments(parser: argparse.ArgumentParser, **optional: Any) -> None:
    """Adds the tracker and its parameters; ``optional``: argparse's options for parameters that may be left out."""
    parser.add_argument("tracker_name", metavar="TRACKER", help=TRACKER_HELP)
    parser.add_argument("tracker_param", metavar="PARAMETERS", help=PARAMETERS_HELP, **optional)


def add_running_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every run on a dataset."""
    parser.add_argument("--workers", type=int, default=0, help="worker processes; 0: run in this process (default)")
    parser.add_argument("--rerun", action="store_true", help="compute existing results again")
    parser.add_argument("--overwrite", action="store_true", help="first move away results with other settings or data")
    parser.add_argument("--results_path", help="folder of result files")


def add_tracker_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--debug``, ``--set``, ``--network``, ``--strict_weights``, ``--device``, ``--engine`` and the like."""
    parser.add_argument("--debug", type=int, default=0, help="debug level of the tracker")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter")
    parser.add_argument("--network", help="run on this network (file name, path, or name of a bundled one)")
    parser.add_argument("--strict_weights", action="store_true", help="fail if the paper's network is not found")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--network_path", help="folder of network weights")
    add_computing_options(parser)
    for name in VISDOM_OPTIONS:
        parser.add_argument(f"--{name}", metavar="IGNORED", help=argparse.SUPPRESS)


def apply_tracker_options(args: argparse.Namespace) -> dict[str, Any]:
    """Applies paths, engine and threads to this process; returns the rest as keywords of a tracker."""
    if any(getattr(args, name) is not None for name in VISDOM_OPTIONS):
        note_visdom({"use_visdom": args.use_visdom})
    apply_flags(results_path=getattr(args, "results_path", None), network_path=args.network_path)
    apply_computing_options(args)
    overrides = parse_overrides(args.set)
    if args.device:
        overrides["device"] = args.device
    if args.debug:
        overrides["debug"] = args.debug
    return {"network": args.network, "strict_weights": args.strict_weights, "overrides": overrides}


def note_visdom(info: dict[str, Any] | None) -> None:
    """Prints what replaces Visdom, for callers that pass pytracking's ``visdom_info``."""
    if info and str(info.get("use_visdom", True)) not in ("False", "0"):
        print(f"note: {VISDOM}", file=sys.stderr)


def parse_overrides(assignments: list[str]) -> dict[str, Any]:
    """Turns ``["learning_rate=0.03", "device=cpu"]`` into a dict; values that are not Python literals stay strings."""
    overrides = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise UserError(f"--set {assignment}: expected NAME=VALUE")
        try:
            overrides[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            overrides[name] = text
    return overrides
