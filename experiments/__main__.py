"""``pytracking experiments list | plan X | run X | status X | report X``; in a checkout ``python -m experiments``."""
import argparse
import contextlib
import sys
from pathlib import Path

from ltr.errors import UserError, exit_code
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.cli.parser import CommandParser
from pytracking.evaluation.environment import apply_flags
from pytracking.utils.threads import available_cores

from .families import of_family
from .planning import plan_job, plan_table
from .running import SequencesFailedError, run_experiment
from .selection import Job, Selection, jobs_of
from .status import status_of, status_table
from .tables import experiment_names, get_experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the experiments")
    texts = {
        "plan": "estimate the cost and name missing data and weights",
        "run": "run what has no results yet",
        "status": "show the progress",
        "report": "compare our numbers with the paper's",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("experiment", help="a name from `list`")
        command.add_argument("--family", default="dimp", help="tracker family: dimp, prdimp, super_dimp or atom")
        command.add_argument("--runs", type=int, help="number of runs (default: the experiment's)")
        command.add_argument("--trackers", nargs="+", metavar="LABEL", help="only these rows")
        command.add_argument("--sequences", nargs="+", metavar="NAME", help="only these sequences")
        command.add_argument("--dataset", help="replace the dataset of every benchmark, e.g. by folder:PATH")
        command.add_argument("--results_path", help="folder of result files (shared by all nodes of a cluster)")
        command.add_argument("--network_path", help="folder of network weights")
        if name in ("plan", "run"):
            cores = available_cores()
            command.add_argument("--workers", type=int, default=cores, help="processes (default: one per core)")
            add_computing_options(command)
        if name == "plan":
            command.add_argument("--no-probe", action="store_true", help="do not run trackers to measure their speed")
        if name == "run":
            overwrite = "first move away results with other settings or data"
            command.add_argument("--overwrite", action="store_true", help=overwrite)
            command.add_argument("--runner", choices=("local", "ray"), default="local", help="local processes or Ray")
            command.add_argument("--address", help="address of a running Ray cluster: auto or HOST:PORT")
            command.add_argument("--gpus", type=float, default=0.0, help="GPUs per task, may be a fraction (ray)")
            command.add_argument("--cpus", type=int, default=1, help="cores per task (ray)")
        if name == "report":
            command.add_argument("--output", type=Path, help="folder for report.md, report.tex and figures")


def run(args: argparse.Namespace) -> int:
    return _list() if args.command == "list" else _command(args)


def main(argv: list[str] | None = None) -> int:
    parser = CommandParser(prog="python -m experiments", description="The paper's tables and figures.")
    add_arguments(parser)
    args = parser.parse_args(argv)
    return exit_code(lambda: run(args))


def _list() -> int:
    for name in experiment_names():
        experiment = get_experiment(name)
        datasets = ", ".join(dict.fromkeys(benchmark.dataset for benchmark in experiment.benchmarks))
        print(f"{name:<20} {experiment.title}\n{'':<20} {experiment.runs} runs on {datasets}", end="")
        print(f"; {experiment.label}" if experiment.label else "")
    return 0


def _command(args: argparse.Namespace) -> int:
    apply_flags(results_path=args.results_path, network_path=args.network_path)
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
        apply_computing_options(args)
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
        with _pool(args) as pool:
            options = {"workers": args.workers, "pool": pool, "overwrite": args.overwrite}
            try:
                print("\n".join(run_experiment(experiment, jobs, **options)))
            except SequencesFailedError as error:
                print(error)
                return 1
        return 0
    from .report import write_report  # loads matplotlib

    print(write_report(experiment, jobs, args.output))
    return 0


def _probe(experiment, jobs: list[Job], args: argparse.Namespace) -> int:
    from .memory_report import run_memory_probe

    if args.command != "run" or args.family != "dimp":
        command = f"pytracking experiments run {experiment.name}"
        raise UserError(f"'{experiment.name}' supports only `run`, which also reports, and DiMP's learners: {command}")
    for job in jobs:
        print(run_memory_probe(experiment, job))
    return 0


def _pool(args: argparse.Namespace) -> contextlib.AbstractContextManager:
    if args.runner == "local":
        if args.address:
            raise UserError("--address requires --runner ray")
        return contextlib.nullcontext()
    from .engines.ray_cluster import RayPool

    return RayPool(args.address, cpus=args.cpus, gpus=args.gpus)


if __name__ == "__main__":
    sys.exit(main())
