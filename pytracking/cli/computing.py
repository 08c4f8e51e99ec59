"""Options of every command that runs trackers: what computes, and with how many threads."""
from __future__ import annotations

import argparse
import os

from pytracking.utils.device import ENGINE_VARIABLE
from pytracking.utils.threads import state_most_threads


def add_computing_options(parser: argparse.ArgumentParser, engine: str = "--engine") -> None:
    """Adds ``--engine`` and ``--cpu_threads``.

    Args:
        parser: of the command.
        engine: another name for the first option, for commands where ``--engine`` is something else.
    """
    choices = ("auto", "torch", "onnxruntime")
    parser.add_argument(engine, dest="network_engine", choices=choices, help="what computes the frozen networks")
    parser.add_argument("--cpu_threads", type=int, metavar="N", help="most threads of each process on the CPU")


def apply_computing_options(args: argparse.Namespace) -> None:
    """Makes them hold in this process and in every process that it starts.

    Raises:
        ValueError: if the number of threads is not positive.
    """
    if args.network_engine is not None:
        os.environ[ENGINE_VARIABLE] = args.network_engine
    state_most_threads(args.cpu_threads)
