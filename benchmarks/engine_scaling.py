"""Scaling of the experiments' engines: frames per second against the number of workers.

    python benchmarks/engine_scaling.py --figure docs/img/engine_scaling.png

Measures two workloads, each with local processes and with Ray (extra `ray`). *Tracking*: BGD-DiMP on the bundled
network, which is limited by this machine's cores. *Waiting*: the identity tracker, which sleeps in each frame, so that
only the engine's overhead counts, including the start of its workers. Every worker gets the same amount of work, so an
engine without overhead would take the same time with any number of workers.
"""
from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.environment import apply_flags
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import Sequence, SequenceList
from pytracking.utils.threads import LIBRARY_VARIABLES, threads_of_each

ENGINES = ("local", "ray")
WAIT = 0.05  # seconds per frame of the waiting tracker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracking-workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--tracking-runs", type=int, default=1, help="runs over four demo sequences of 200 frames")
    parser.add_argument("--waiting-workers", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--waiting-frames", type=int, default=400, help="frames per worker, in sequences of 100")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--figure", type=Path, help="PNG file to draw")
    args = parser.parse_args()
    demo = get_dataset("demo")
    tracking, waiting = {}, {}
    print(f"{'':<10} {'engine':<8} {'workers':>8} {'frames':>8} {'seconds':>9} {'frames/s':>9}")
    for engine in args.engines:
        for workers in args.tracking_workers:
            sequences = SequenceList(s for s in demo if len(s) == 200)
            trackers = [Tracker("dimp", "bgd", run, network="dimp_mobile") for run in range(args.tracking_runs)]
            tracking[engine, workers] = measure("tracking", engine, workers, sequences, trackers)
        for workers in args.waiting_workers:
            pieces = args.waiting_frames // 100 * workers
            sequences = SequenceList(piece(demo[0], number) for number in range(pieces))
            waiting[engine, workers] = measure(
                "waiting", engine, workers, sequences, [Tracker("identity", "default", 0)], {"seconds_per_frame": WAIT}
            )
    if args.figure:
        draw(args.figure, tracking, waiting)


def piece(sequence: Sequence, number: int) -> Sequence:
    """The sequence's first hundred frames as a sequence ``piece_<number>``."""
    return Sequence(f"piece_{number}", sequence.frames[:100], "demo", sequence.ground_truth_rect[:100])


def measure(what, engine: str, workers: int, sequences, trackers, overrides: dict | None = None) -> float:
    """Frames per second of a whole run, from the start of the workers to the last result file."""
    with tempfile.TemporaryDirectory() as folder:
        apply_flags(results_path=folder)
        start = time.perf_counter()
        with pool_of(engine, workers) as pool:
            report = run_dataset(sequences, trackers, threads=workers, overrides=overrides, progress=False, pool=pool)
        seconds = time.perf_counter() - start
    if report.failures:
        raise SystemExit(report.summary())
    frames = sum(map(len, sequences)) * len(trackers)
    print(f"{what:<10} {engine:<8} {workers:8d} {frames:8d} {seconds:9.1f} {frames / seconds:9.1f}", flush=True)
    return frames / seconds


@contextmanager
def pool_of(engine: str, workers: int):
    """Yields None for local processes, or a Ray cluster on this machine for this many tasks."""
    if engine == "local":
        yield None
        return
    import ray

    from pytracking.experiments.engines.ray_cluster import RayPool

    variables = dict.fromkeys(LIBRARY_VARIABLES, str(threads_of_each(workers)))
    ray.init(num_cpus=workers, runtime_env={"env_vars": variables}, log_to_driver=False, include_dashboard=False)
    try:
        with RayPool() as pool:
            yield pool
    finally:
        ray.shutdown()


def draw(path: Path, tracking: dict, waiting: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    limited = "tracking: limited by 2 cores" if threads_of_each(1) == 2 else "tracking"
    titles = (limited, "waiting: the engine's overhead")
    for axis, values, title in zip(axes, (tracking, waiting), titles, strict=True):
        counts = sorted({workers for _, workers in values})
        one = values[next(iter(values))]
        ideal = [one * count for count in counts]
        axis.plot(counts, ideal, color="0.7", linestyle="--", label="linear scaling")
        for engine in dict.fromkeys(engine for engine, _ in values):
            axis.plot(counts, [values[engine, count] for count in counts], marker="o", label=engine)
        axis.set(title=title, xlabel="workers", ylabel="frames per second", xticks=counts)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
