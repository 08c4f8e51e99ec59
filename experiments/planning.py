"""What an experiment will cost, before it is started: sequence-runs, frames, disk and hours at the measured speed."""
from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from experiments.selection import Job
from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.results import is_complete, read_times, times_file
from pytracking.evaluation.running import torch_threads

BYTES_A_FRAME = 50  # boxes, time and score of one frame as text
PROBE_FRAMES = 45  # two of DiMP's updates, which come every 20th frame
PROBE_DATASET = "demo"


@dataclass(frozen=True)
class Speed:
    """Seconds that a tracker takes."""

    first_frame: float
    other_frames: float
    source: str  # how it was measured

    def seconds(self, sequences: int, frames: int) -> float:
        return sequences * self.first_frame + max(frames - sequences, 0) * self.other_frames


@dataclass(frozen=True)
class TrackerPlan:
    """What is left to do for one row of one benchmark."""

    dataset: str
    label: str
    sequence_runs: int
    frames: int
    done_runs: int  # sequence-runs whose results are there
    speed: Speed | None  # None: not measured, because weights or data are missing

    @property
    def seconds(self) -> float | None:
        return self.speed.seconds(self.sequence_runs, self.frames) if self.speed else None


def plan_job(job: Job, workers: int, probe: bool = True) -> list[TrackerPlan]:
    """The plans of a benchmark's rows; ``probe`` allows a short run of a tracker where no results tell its speed."""
    return [_plan_row(job, label, runs, workers, probe) for label, runs in job.trackers.items()]


def _plan_row(job: Job, label: str, runs: list[Tracker], workers: int, probe: bool) -> TrackerPlan:
    waiting, frames, done = 0, 0, 0
    missing_weights = any(problem.startswith(f"{label}:") for problem in job.problems)
    for tracker in runs:
        for sequence in job.sequences:
            if not missing_weights and is_complete(tracker.results_dir, sequence.name, len(sequence)):
                done += 1
            else:
                waiting, frames = waiting + 1, frames + len(sequence)
    speed = None
    if not missing_weights and len(job.sequences):
        speed = speed_of_results(runs, job) or (probe_speed(runs[0], workers) if probe and waiting else None)
    return TrackerPlan(job.benchmark.dataset, label, waiting, frames, done, speed)


def speed_of_results(runs: list[Tracker], job: Job) -> Speed | None:
    """The speed that existing results of these runs tell; None where there are none."""
    first, others = [], []
    for tracker in runs:
        for sequence in job.sequences:
            path = times_file(tracker.results_dir, sequence.name)
            if is_complete(tracker.results_dir, sequence.name, len(sequence)) and path.exists():
                times = read_times(path)
                first.append(times[0])
                others.extend(times[1:])
    if not others:
        return None
    return Speed(float(np.mean(first)), float(np.mean(others)), f"{len(first)} results")


def probe_speed(tracker: Tracker, workers: int) -> Speed:
    """Runs the tracker on a few demo frames, with the threads that one of so many workers would have."""
    import torch

    sequence = get_dataset(PROBE_DATASET)[0]
    before = torch.get_num_threads()
    torch.set_num_threads(torch_threads(workers))
    try:
        tracking = tracker.create_tracker()
        first_frame = sequence.load_frame(0)
        info = {**sequence.checked_init_info(first_frame), "seed": 0}
        start = time.perf_counter()
        tracking.initialize(first_frame, info)
        initialised = time.perf_counter()
        frames = min(PROBE_FRAMES, len(sequence))
        for index in range(1, frames):
            tracking.track(sequence.load_frame(index), {"frame_index": index})
        end = time.perf_counter()
    finally:
        torch.set_num_threads(before)
    return Speed(initialised - start, (end - initialised) / (frames - 1), f"{frames} frames tried now")


def total_hours(plans: list[TrackerPlan], workers: int) -> float | None:
    """Wall-clock hours for all plans; None where a speed is unknown."""
    if any(plan.speed is None and plan.sequence_runs for plan in plans):
        return None
    return sum(plan.seconds or 0.0 for plan in plans) / workers / 3600.0


def plan_table(plans: list[TrackerPlan], problems: list[str], workers: int) -> str:
    """The plan as text."""
    head = f"{'dataset':<14} {'tracker':<22} {'to run':>8} {'frames':>12} {'done':>7} {'fps':>7} {'hours':>8}"
    head += "  speed from"
    lines = [head, "-" * len(head)]
    for plan in plans:
        fps = f"{1.0 / plan.speed.other_frames:7.1f}" if plan.speed else f"{'?':>7}"
        hours = f"{plan.seconds / 3600.0:8.2f}" if plan.speed else f"{'?':>8}"
        source = plan.speed.source if plan.speed else ("nothing to run" if not plan.sequence_runs else "not measured")
        lines.append(
            f"{plan.dataset:<14} {plan.label:<22} {plan.sequence_runs:8d} {plan.frames:12,d} {plan.done_runs:7d} "
            f"{fps} {hours}  {source}"
        )
    frames = sum(plan.frames for plan in plans)
    hours = total_hours(plans, workers)
    lines.append("-" * len(head))
    lines.append(
        f"{sum(plan.sequence_runs for plan in plans):,d} sequence-runs, {frames:,d} frames, "
        f"{frames * BYTES_A_FRAME / 2**20:,.1f} MiB of results, "
        + (f"{hours:.2f} hours with {workers} workers" if hours is not None else "hours unknown (see what is missing)")
    )
    if problems:
        lines += ["", "missing:"] + [f"  - {problem}" for problem in dict.fromkeys(problems)]
    return "\n".join(lines)
