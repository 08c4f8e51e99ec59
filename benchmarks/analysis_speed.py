"""Time to score one tracker on a set as large as LaSOT's: 280 sequences of 2500 frames, 20 runs, 14 million boxes.

Writes synthetic result files to a temporary folder, then scores them from the text files and again from the cache:

    python benchmarks/analysis_speed.py [--sequences 280 --frames 2500 --runs 20 --workers 2]
"""
from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from pytracking.analysis.evaluate import evaluate
from pytracking.analysis.result_sets import ResultSet, Run
from pytracking.evaluation.sequence import Sequence


def make_sequence(name: str, frames: int, rng: np.random.Generator) -> Sequence:
    """A wandering target that is sometimes out of view."""
    truth = np.array([600.0, 340, 120, 80]) + np.cumsum(rng.normal(0, 2, (frames, 4)) * [1, 1, 0.1, 0.1], axis=0)
    truth[:, 2:] = np.maximum(truth[:, 2:], 10)
    return Sequence(name, [f"{n}.jpg" for n in range(frames)], "lasot", truth, target_visible=rng.random(frames) > 0.05)


def write_results(folder: Path, sequences: list[Sequence], rng: np.random.Generator) -> None:
    """Boxes near the truth, written as the runner writes them: tab-separated, two decimals."""
    folder.mkdir(parents=True)
    for sequence in sequences:
        boxes = sequence.ground_truth_rect + rng.normal(0, 15, (len(sequence), 4))
        boxes[:, 2:] = np.maximum(boxes[:, 2:], 1)
        text = "\n".join(f"{x:.2f}\t{y:.2f}\t{w:.2f}\t{h:.2f}" for x, y, w, h in boxes.tolist())
        (folder / f"{sequence.name}.txt").write_text(text + "\n")


def cpu_seconds() -> float:
    """CPU time of this process and its workers, which depends less on other load than the elapsed time."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=280)
    parser.add_argument("--frames", type=int, default=2500)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["PYTRACKING_CACHE_PATH"] = str(Path(temporary) / "cache")
        sequences = [make_sequence(f"seq-{n}", args.frames, rng) for n in range(args.sequences)]
        runs = [Path(temporary) / f"param_{run:03d}" for run in range(args.runs)]
        for folder in runs:
            write_results(folder, sequences, rng)
        size = sum(path.stat().st_size for path in Path(temporary).rglob("*.txt")) / 1e6
        files = args.sequences * args.runs
        print(f"{files} files, {files * args.frames / 1e6:.1f} M boxes, {size:.0f} MB")
        results = [ResultSet("synthetic", tuple(Run(folder) for folder in runs))]
        seconds = {}
        for label in ("text files", "cache"):
            start, cpu = time.perf_counter(), cpu_seconds()
            evaluation = evaluate(results, sequences, "pytracking", workers=args.workers)
            summary = evaluation.summary(evaluation.trackers[0])
            seconds[label] = time.perf_counter() - start
            means = [100 * float(np.mean(x)) for x in (summary.auc, summary.precision, summary.normalised_precision)]
            numbers = f"AUC {means[0]:.3f}  P {means[1]:.3f}  NP {means[2]:.3f}"
            print(f"from {label:<10} {seconds[label]:6.2f} s (CPU {cpu_seconds() - cpu:6.2f} s)   {numbers}")
        print(f"cache over text files: {seconds['text files'] / seconds['cache']:.1f} times faster")


if __name__ == "__main__":
    main()
