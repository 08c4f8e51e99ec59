"""Estimates an experiment's cost before it is started: sequence-runs, frames, disk and hours at the measured speed."""
import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pytracking.analysis.tables import Cell, Number, Table
from pytracking.evaluation import SequenceList, Tracker
from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.evaluation.results import is_complete, read_times, times_file
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.progress import progress_bar
from pytracking.utils.threads import thread_variables, threads_of_each

from .selection import Job

BYTES_PER_FRAME = 50  # box, time and score of one frame as text
PROBE_FRAMES = 45  # includes two of DiMP's updates, which come every 20th frame
PROBE_SEQUENCES = 3
PROBE_SECONDS = 10.0  # limit per sequence, for slow trackers


@dataclass(frozen=True)
class Speed:
    """Seconds per frame of a tracker."""

    first_frame: float
    other_frames: float  # 0 if no sequence has more than one frame
    source: str  # how it was measured

    def seconds(self, sequences: int, frames: int) -> float:
        return sequences * self.first_frame + max(frames - sequences, 0) * self.other_frames


@dataclass(frozen=True)
class TrackerPlan:
    """The remaining work for one row of one benchmark."""

    dataset: str
    label: str
    sequence_runs: int
    frames: int
    done_runs: int  # sequence-runs with results
    speed: Speed | None  # None: not measured, because weights or data are missing

    @property
    def seconds(self) -> float | None:
        return self.speed.seconds(self.sequence_runs, self.frames) if self.speed else None


def plan_job(job: Job, workers: int, probe: bool = True) -> list[TrackerPlan]:
    """The plans of a benchmark's rows; ``probe`` allows short runs to time trackers without results."""
    rows = job.trackers.items()
    if probe:
        rows = progress_bar(rows, desc=f"measuring trackers on {job.benchmark.dataset}", leave=False)
    return [_plan_row(job, label, runs, workers, probe) for label, runs in rows]


def _plan_row(job: Job, label: str, runs: list[Tracker], workers: int, probe: bool) -> TrackerPlan:
    done, waiting, blocked = [], [], job.is_blocked(label)
    for tracker, sequence in product(runs, job.sequences):
        complete = not blocked and is_complete(tracker.results_dir, sequence.name, len(sequence))
        (done if complete else waiting).append((tracker, sequence))
    speed = _speed_of_results(done)
    if speed is None and probe and waiting and not blocked:
        speed = probe_speed(runs[0], job.sequences, workers)
    frames = sum(len(sequence) for _, sequence in waiting)
    return TrackerPlan(job.benchmark.dataset, label, len(waiting), frames, len(done), speed)


def _speed_of_results(done: list[tuple[Tracker, Sequence]]) -> Speed | None:
    """The speed according to existing results; None if they have no times."""
    files = [times_file(tracker.results_dir, sequence.name) for tracker, sequence in done]
    times = [read_times(path) for path in files if path.exists()]
    others = np.concatenate([each[1:] for each in times]) if times else np.empty(0)
    if not others.size:
        return None
    return Speed(float(np.mean([each[0] for each in times])), float(others.mean()), f"{len(times)} results")


def probe_speed(tracker: Tracker, sequences: SequenceList, workers: int) -> Speed:
    """Runs the tracker on the first frames of a few sequences, with as many threads as one of ``workers`` would get."""
    import torch

    before, threads = torch.get_num_threads(), threads_of_each(workers)
    torch.set_num_threads(threads)
    try:
        with thread_variables(threads):
            tracking = tracker.create_tracker()
        timings = [time_frames(tracking, sequence) for sequence in probed_sequences(sequences)]
    finally:
        torch.set_num_threads(before)
    first, others, frames = (sum(column) for column in zip(*timings, strict=True))
    source = f"{frames + len(timings)} frames of {len(timings)} sequences measured now"
    return Speed(first / len(timings), others / max(frames, 1), source)


def probed_sequences(sequences: SequenceList) -> list[Sequence]:
    """A few sequences spread over the dataset, because frame size and difficulty affect the speed."""
    places = np.linspace(0, len(sequences) - 1, min(PROBE_SEQUENCES, len(sequences))).round().astype(int)
    return [sequences[int(place)] for place in places]


def time_frames(tracking: Any, sequence: Sequence) -> tuple[float, float, int]:
    """Seconds of the first frame, total seconds of the next frames, and their number."""
    loop = FrameLoop(tracking)
    first = loop.start_sequence(sequence).seconds
    others, tracked = 0.0, 0
    while tracked + 1 < min(PROBE_FRAMES, len(sequence)) and others < PROBE_SECONDS:
        tracked += 1
        others += loop.next(sequence.load_frame(tracked)).seconds
    return first, others, tracked


def total_hours(plans: list[TrackerPlan], workers: int) -> float | None:
    """Wall-clock hours for all plans; None if a speed is unknown."""
    if any(plan.speed is None and plan.sequence_runs for plan in plans):
        return None
    return sum(plan.seconds or 0.0 for plan in plans) / workers / 3600.0


def plan_table(plans: list[TrackerPlan], problems: list[str], workers: int) -> Table:
    """The plan, with its totals and all problems as notes."""
    table = Table("plan", ["dataset", "tracker", "to run", "frames", "done", "fps", "hours", "speed from"])
    for plan in plans:
        cells: list[Cell] = ["?", "?", "not measured" if plan.sequence_runs else "nothing to run"]
        if plan.speed:
            fps = 1.0 / plan.speed.other_frames if plan.speed.other_frames else math.nan
            cells = [Number(fps, decimals=1), Number(plan.seconds / 3600.0), plan.speed.source]
        table.rows.append(
            [plan.dataset, plan.label, plan.sequence_runs, f"{plan.frames:,d}", plan.done_runs, *cells]
        )
    frames, hours = sum(plan.frames for plan in plans), total_hours(plans, workers)
    table.notes.append(
        f"{sum(plan.sequence_runs for plan in plans):,d} sequence-runs, {frames:,d} frames, "
        f"{frames * BYTES_PER_FRAME / 2**20:,.1f} MiB of results, "
        + (f"{hours:.2f} hours with {workers} workers" if hours is not None else "hours unknown")
    )
    if problems:
        table.notes += ["", "missing:"] + [f"  - {problem}" for problem in dict.fromkeys(problems)]
    return table
