"""Scores result files: the numbers of an experiment's table, one per run."""
from dataclasses import dataclass
from itertools import product

import numpy as np

from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.presence import score_run
from pytracking.analysis.report import peak_memory
from pytracking.analysis.result_sets import Run
from pytracking.evaluation.results import is_complete

from .selection import Job

# column -> attribute of an analysis Summary
SUMMARY_METRICS = {
    "success": "auc",
    "precision": "precision",
    "norm_precision": "normalised_precision",
    "sr50": "op50",
    "sr75": "op75",
    "ao": "average_overlap",
}
PRESENCE_METRICS = ("tpr", "tnr")  # OxUvA's, from sparse labels
VOT_METRICS = {  # attribute of a VotReport's row
    "eao": "eao",
    "accuracy": "accuracy",
    "neg_log_reliability": "minus_log_reliability",
    "rt_eao": "realtime_eao",
}


@dataclass(frozen=True)
class JobScores:
    """The scores of a benchmark's results."""

    values: dict[str, dict[str, np.ndarray]]  # row label -> metric -> (runs,)
    fps: dict[str, float]
    memory: dict[str, float]  # peak, MiB
    evaluation: Evaluation | None  # curves and sequences; None if the protocol has no curves
    unfinished: dict[str, str]  # row label -> what is missing


def score_job(job: Job) -> JobScores:
    """Scores the rows whose results are complete and lists the others as unfinished."""
    finished, unfinished = {}, {}
    for label, runs in job.trackers.items():
        if job.is_blocked(label):
            unfinished[label] = "its network is missing"
            continue
        states = [is_complete(t.results_dir, s.name, len(s)) for t, s in product(runs, job.sequences)]
        if not states or not all(states):
            unfinished[label] = f"{states.count(False)} of {len(states)} sequence-runs are missing"
        else:
            finished[label] = runs
    if not finished:
        return JobScores({}, {}, {}, None, unfinished)
    if any(metric in PRESENCE_METRICS for metric in job.benchmark.metrics):
        return JobScores(_presence(job, finished), {}, {}, None, unfinished)
    trackers = [tracker for runs in finished.values() for tracker in runs]
    evaluation = evaluate(trackers, job.sequences, job.benchmark.rule, progress=False)
    values, fps, memory = {}, {}, {}
    for scores in evaluation.trackers:
        summary = evaluation.summary(scores)
        metrics = {name: getattr(summary, SUMMARY_METRICS[name]) for name in job.benchmark.metrics}
        values[scores.name] = {name: np.atleast_1d(value) for name, value in metrics.items()}
        fps[scores.name] = scores.frames_per_second
        memory[scores.name] = peak_memory(evaluation, scores)
    return JobScores(values, fps, memory, evaluation, unfinished)


def _presence(job: Job, finished: dict) -> dict[str, dict[str, np.ndarray]]:
    values = {}
    for label, runs in finished.items():
        counts = [score_run(Run(tracker.results_dir), job.sequences) for tracker in runs]
        values[label] = {name: np.array([getattr(each, name) for each in counts]) for name in job.benchmark.metrics}
    return values
