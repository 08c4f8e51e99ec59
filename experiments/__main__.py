"""``python -m experiments list | plan X | run X | status X | report X``."""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from experiments.families import of_family
from experiments.planning import plan_job, plan_table
from experiments.running import NothingToRunError, SequencesFailedError, run_experiment
from experiments.selection import Job, Selection, jobs_of
from experiments.status import status_of, status_table
from experiments.tables import experiment_names, get_experiment
from pytracking.evaluation.environment import ConfigError, apply_flags
from pytracking.evaluation.run_record import ChangedRunError
from pytracking.evaluation.tracker import MissingWeightsError, UnknownTrackerError
from pytracking.utils.threads import state_most_threads

USER_ERRORS = (
    NothingToRunError, ChangedRunError, ConfigError, MissingWeightsError, UnknownTrackerError, KeyError, ValueError,
    ImportError, OSError,
)


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper's tables and figures.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments there are")
    texts = {
        "plan": "what it costs, and what is missing",
        "run": "run what is not there yet",
        "status": "how far it has come",
        "report": "our numbers beside the paper's",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("experiment", help="a name from `list`")
        command.add_argument("--family", default="dimp", help="whose trackers: dimp, prdimp, super_dimp, atom")
        command.add_argument("--runs", type=int, help="repetitions instead of the paper's number")
        command.add_argument("--trackers", nargs="+", metavar="LABEL", help="only these rows")
        command.add_argument("--sequences", nargs="+", metavar="NAME", help="only these sequences")
        command.add_argument("--dataset", help="another dataset for every benchmark, e.g. folder:PATH")
        command.add_argument("--results_path", help="folder of result files (shared by all nodes of a cluster)")
        command.add_argument("--network_path", help="folder of network weights")
        if name in ("plan", "run"):
            command.add_argument("--workers", type=int, default=_cores(), help="processes (default: one a core)")
            command.add_argument("--cpu_threads", type=int, metavar="N", help="most threads of each process")
        if name == "plan":
            command.add_argument("--no-probe", action="store_true", help="do not try trackers to measure their speed")
        if name == "run":
            command.add_argument("--overwrite", action="store_true", help="move results of other settings or data away")
            command.add_argument("--engine", choices=("local", "ray"), default="local")
            command.add_argument("--address", help="of a running Ray cluster: auto or HOST:PORT")
            command.add_argument("--gpus", type=float, default=0.0, help="share of a GPU for a task (ray)")
            command.add_argument("--cpus", type=int, default=1, help="cores for a task (ray)")
        if name == "report":
            command.add_argument("--output", type=Path, help="folder for report.md, report.tex and figures")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    try:
        if args.command == "list":
            return _list()
        apply_flags(results_path=args.results_path, network_path=args.network_path)
        return _command(args)
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except SequencesFailedError as error:
        print(error)
        return 1
    except USER_ERRORS as error:
        text = error.args[0] if isinstance(error, KeyError) else error
        print(f"error: {text}", file=sys.stderr)
        return 2


def _list() -> int:
    for name in experiment_names():
        experiment = get_experiment(name)
        datasets = ", ".join(dict.fromkeys(benchmark.dataset for benchmark in experiment.benchmarks))
        print(f"{name:<20} {experiment.title}\n{'':<20} {experiment.runs} runs on {datasets}", end="")
        print(f"; {experiment.label}" if experiment.label else "")
    return 0


def _command(args: argparse.Namespace) -> int:
    experiment = get_experiment(args.experiment)
    if args.family != "dimp":
        experiment = of_family(experiment, args.family)
    selection = Selection(
        runs=args.runs,
        trackers=tuple(args.trackers) if args.trackers else None,
        sequences=tuple(args.sequences) if args.sequences else None,
        dataset=args.dataset,
    )
    if args.command in ("plan", "run"):
        state_most_threads(args.cpu_threads)
    jobs = jobs_of(experiment, selection)
    if any(benchmark.protocol == "memory" for benchmark in experiment.benchmarks):
        return _probe(experiment, jobs, args)
    if args.command == "plan":
        plans = [plan for job in jobs for plan in plan_job(job, args.workers, probe=not args.no_probe)]
        print(plan_table(plans, [str(problem) for job in jobs for problem in job.problems], args.workers))
        return 0
    if args.command == "status":
        print(status_table([row for job in jobs for row in status_of(job)]))
        return 0
    if args.command == "run":
        with _engine(args) as pool:
            options = {"workers": args.workers, "pool": pool, "overwrite": args.overwrite}
            print("\n".join(run_experiment(experiment, jobs, **options)))
        return 0
    return _report(experiment, jobs, args)


def _probe(experiment, jobs: list[Job], args: argparse.Namespace) -> int:
    from experiments.memory_report import run_memory_probe

    if args.command != "run" or args.family != "dimp":
        command = f"python -m experiments run {experiment.name}"
        raise ValueError(f"'{experiment.name}' is run and reported at once, for DiMP's learners: {command}")
    for job in jobs:
        print(run_memory_probe(experiment, job))
    return 0


def _engine(args: argparse.Namespace) -> contextlib.AbstractContextManager:
    if args.engine == "local":
        if args.address:
            raise ValueError("--address belongs to --engine ray")
        return contextlib.nullcontext()
    from experiments.engines.ray_cluster import RayPool

    return RayPool(args.address, cpus=args.cpus, gpus=args.gpus)


def _report(experiment, jobs: list[Job], args: argparse.Namespace) -> int:
    from experiments.report import write_report

    print(write_report(experiment, jobs, args.output))
    return 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
