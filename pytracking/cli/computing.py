"""Options of every command that runs trackers: the engine and the number of threads."""
import argparse
import os

from pytracking.utils.device import ENGINE_VARIABLE
from pytracking.utils.threads import state_most_threads

ENGINES = ("auto", "torch", "onnxruntime")
RUNNERS = ("trax", "inprocess", "local", "ray")


def add_computing_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--engine`` and ``--cpu-threads``, which mean the same in every command."""
    parser.add_argument(
        "--engine",
        type=_engine,
        metavar="|".join(ENGINES),
        help="library that computes the frozen networks (default: auto)",
    )
    parser.add_argument("--cpu-threads", type=int, metavar="N", help="maximum number of CPU threads per process")


def _engine(text: str) -> str:
    if text in ENGINES:
        return text
    hint = f"; --runner {text} chooses how trackers are run" if text in RUNNERS else ""
    raise argparse.ArgumentTypeError(f"'{text}' is not one of {', '.join(ENGINES)}{hint}")


def apply_computing_options(args: argparse.Namespace) -> None:
    """Applies the options to this process and to every process that it starts."""
    if args.engine is not None:
        os.environ[ENGINE_VARIABLE] = args.engine
    state_most_threads(args.cpu_threads)
