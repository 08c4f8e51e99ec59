"""Options of every command that makes a tracker: its parameters, its network, its device, and what computes."""
from __future__ import annotations

import argparse
import ast
import sys
from typing import Any

from ltr.errors import UserError
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.evaluation.environment import apply_flags

VISDOM = "Visdom is not used here: --debug writes views as files, and `pytracking serve` shows tracking in the browser"


def add_tracker_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--debug``, ``--set``, ``--network``, ``--strict_weights``, ``--device``, ``--engine`` and the like."""
    parser.add_argument("--debug", type=int, default=0, help="debug level of the tracker")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter")
    parser.add_argument("--network", help="run on this network (file name, path, or name of a bundled one)")
    parser.add_argument("--strict_weights", action="store_true", help="fail where the paper's network is not found")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--network_path", help="folder of network weights")
    add_computing_options(parser)


def apply_tracker_options(args: argparse.Namespace) -> dict[str, Any]:
    """Makes paths, engine and threads hold in this process; returns ``network``, ``strict_weights`` and ``overrides``.

    Raises:
        UserError: if an assignment is not NAME=VALUE.
    """
    apply_flags(results_path=getattr(args, "results_path", None), network_path=args.network_path)
    apply_computing_options(args)
    overrides = parse_overrides(args.set)
    if args.device:
        overrides["device"] = args.device
    if args.debug:
        overrides["debug"] = args.debug
    return {"network": args.network, "strict_weights": args.strict_weights, "overrides": overrides}


def parse_overrides(assignments: list[str]) -> dict[str, Any]:
    """Turns ``["learning_rate=0.03", "device=cpu"]`` into a dict; what is not a Python literal stays a string."""
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


def add_visdom_options(parser: argparse.ArgumentParser) -> None:
    """Accepts the flags that pytracking's scripts have for Visdom."""
    for name in ("--use_visdom", "--visdom_server", "--visdom_port"):
        parser.add_argument(name, default=None, metavar="IGNORED", help=argparse.SUPPRESS)


def visdom_info(args: argparse.Namespace) -> dict[str, Any] | None:
    """What was asked of Visdom; None if nothing was."""
    asked = {"use_visdom": args.use_visdom, "server": args.visdom_server, "port": args.visdom_port}
    return asked if any(value is not None for value in asked.values()) else None


def note_visdom(info: dict[str, Any] | None) -> None:
    """Says what takes Visdom's place to somebody who asks for it."""
    if info and str(info.get("use_visdom", True)) not in ("False", "0"):
        print(f"note: {VISDOM}", file=sys.stderr)
