"""A tracker on the DAVIS videos that no network here was trained on: what settings are chosen by.

    python benchmarks/held_out_videos.py [--tracker rls_dimp] [--network FILE] [--set NAME=VALUE …] [--seeds 1]

Each of the ten videos is tracked four times: from its first frame on, from its last frame backwards, and in both
directions from its middle, so that ten videos say nearly as much as forty short ones. Prints the mean AUC of success,
the precision at 0.2 target sizes and the share of runs that end without the target. `LTR_DAVIS_PATH` names the videos.
"""
from __future__ import annotations

import argparse
import ast
import time
from pathlib import Path

import numpy as np

import pytracking
from ltr.admin.environment import training_path
from ltr.dataset.masks import MaskVideos
from ltr.dataset.split import read_split
from pytracking.analysis.metrics import normalised_centre_error, overlap

LOST = 0.1  # mean overlap over the last tenth of a run below which the target counts as lost


def runs_of(frames: int) -> list[list[int]]:
    """Frame numbers of the four runs through a video."""
    middle = frames // 2
    return [
        list(range(frames)),
        list(range(frames - 1, -1, -1)),
        list(range(middle, frames)),
        list(range(middle, -1, -1)),
    ]


def track(handle: pytracking.evaluation.handle.TrackerHandle, frames: list[np.ndarray], box: np.ndarray) -> np.ndarray:
    """Boxes (frames, 4) of one run; the first is the given one."""
    handle.init(frames[0], box)
    return np.array([box, *(handle.update(frame)["target_bbox"] for frame in frames[1:])], float)


def measures(boxes: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """AUC, precision at 0.2 target sizes and whether the target was lost, over frames with an annotation."""
    known = np.isfinite(truth).all(1)
    known[0] = False
    overlaps = overlap(boxes[known], truth[known])
    near = normalised_centre_error(boxes[known], truth[known]) < 0.2
    tail = overlaps[-max(len(overlaps) // 10, 5) :]
    return float(overlaps.mean()), float(near.mean()), float(tail.mean() < LOST)


def value(text: str) -> tuple[str, object]:
    """NAME=VALUE with Python's literals."""
    name, _, literal = text.partition("=")
    try:
        return name, ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return name, literal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", default="rls_dimp")
    parser.add_argument("--param", default="default")
    parser.add_argument("--network", type=Path, help="checkpoint to use instead of the bundled one")
    parser.add_argument("--set", nargs="*", default=[], type=value, metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="a line per run")
    args = parser.parse_args()
    overrides = dict(args.set) | ({"weights": str(args.network.resolve())} if args.network else {})
    videos = MaskVideos(training_path("davis_path"), only=read_split("davis_held_out"))
    results, started, count = [], time.perf_counter(), 0
    for index, name in enumerate(videos.videos):
        truth = videos.track(index).boxes.astype(float)
        frames = videos.frames(index, list(range(len(truth))))
        for number, order in enumerate(runs_of(len(truth))):
            for seed in range(args.seeds):
                handle = pytracking.load(args.tracker, args.param, seed=seed, **overrides)
                boxes = track(handle, [frames[t] for t in order], truth[order[0]])
                results.append(measures(boxes, truth[order]))
                count += len(order)
                if args.verbose:
                    row = " ".join(f"{v:.3f}" for v in results[-1])
                    print(f"{name:16s} run {number} seed {seed}: {row}", flush=True)
    auc, precision, lost = np.mean(results, axis=0)
    error = np.std([r[0] for r in results]) / len(results) ** 0.5
    rate = count / (time.perf_counter() - started)
    print(f"{len(results)} runs: AUC {auc:.4f} (+- {error:.4f}), precision {precision:.4f}, lost {lost:.3f}")
    print(f"{rate:.1f} frames per second, first frames included")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
