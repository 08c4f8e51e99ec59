"""Flags of pytracking's scripts for Visdom: accepted, and answered with what takes its place."""
from __future__ import annotations

import argparse
import sys
from typing import Any

VISDOM = "Visdom is not used here: --debug writes views as files, and `pytracking serve` shows tracking in the browser"


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
