"""Runs a tracker on the ten DAVIS videos on which no bundled network was trained, to choose settings.

    python benchmarks/held_out_videos.py [--tracker rls_dimp] [--network FILE] [--set NAME=VALUE …] [--seeds 1]
        [--kinds plain fast small covered look_alike]

Each video is tracked four times: from its first frame, from its last frame backwards, and in both directions from its
middle, which is nearly as informative as forty short videos. The harder kinds (harder_videos.py) are run forwards and
backwards. Prints for every kind the mean AUC of success, the precision at 0.2 target sizes and the fraction of runs
that end without the target. `LTR_DAVIS_PATH` is the folder of the videos.
"""
from __future__ import annotations

import argparse
import ast
import time
from pathlib import Path

import cv2
import numpy as np
from harder_videos import KINDS

import pytracking
from ltr.admin.environment import training_path
from ltr.dataset.masks import MaskVideos
from ltr.dataset.split import read_split
from pytracking.analysis.metrics import normalised_centre_error, overlap

LOST = 0.1  # mean overlap over the last tenth of a run below which the target counts as lost


def runs_of(frames: int, kind: str) -> list[list[int]]:
    """Frame numbers of each run through a video."""
    middle = frames // 2
    whole = [list(range(frames)), list(range(frames - 1, -1, -1))]
    return [*whole, list(range(middle, frames)), list(range(middle, -1, -1))] if kind == "plain" else whole


def masks_of(videos: MaskVideos, index: int) -> list[np.ndarray]:
    """The target's pixels in every frame."""
    folder = videos.masks / videos.videos[index]
    paths = [folder / f"{file.stem}.png" for file in videos.files(index)]
    return [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) > 0 for path in paths]


def track(handle: pytracking.evaluation.handle.TrackerHandle, frames: list[np.ndarray], box: np.ndarray) -> np.ndarray:
    """Boxes (frames, 4) of one run, starting with the given one."""
    handle.init(frames[0], box)
    return np.array([box, *(handle.update(frame)["target_bbox"] for frame in frames[1:])], float)


def measures(boxes: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """AUC, precision at 0.2 target sizes, and 1 if the target was lost, over the annotated frames."""
    known = np.isfinite(truth).all(1)
    known[0] = False
    overlaps = overlap(boxes[known], truth[known])
    near = normalised_centre_error(boxes[known], truth[known]) < 0.2
    tail = overlaps[-max(len(overlaps) // 10, 5) :]
    return float(overlaps.mean()), float(near.mean()), float(tail.mean() < LOST)


def summary(rows: list) -> str:
    """Means of rows of :func:`measures`."""
    return "AUC {:.4f}, precision {:.4f}, lost {:.3f}".format(*np.mean(rows, axis=0))


def value(text: str) -> tuple[str, object]:
    """Parses NAME=VALUE, where VALUE is a Python literal or plain text."""
    name, _, literal = text.partition("=")
    try:
        return name, ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return name, literal


def add_tracker_options(parser: argparse.ArgumentParser, tracker: str = "rls_dimp") -> None:
    """Adds the options that choose a tracker, its network and its parameters; see :func:`overrides_of`."""
    parser.add_argument("--tracker", default=tracker)
    parser.add_argument("--param", default="default")
    parser.add_argument("--network", type=Path, help="checkpoint to use instead of the bundled one")
    parser.add_argument("--set", nargs="*", default=[], type=value, metavar="NAME=VALUE")


def overrides_of(args: argparse.Namespace) -> dict[str, object]:
    """The parameters that --set and --network state."""
    return dict(args.set) | ({"weights": str(args.network.resolve())} if args.network else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_tracker_options(parser)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=["plain"], choices=sorted(KINDS))
    parser.add_argument("--verbose", action="store_true", help="a line per run")
    args = parser.parse_args()
    overrides = overrides_of(args)
    videos = MaskVideos(training_path("davis_path"), only=read_split("davis_held_out"))
    results: dict[str, list] = {kind: [] for kind in args.kinds}
    started, count = time.perf_counter(), 0
    for index, name in enumerate(videos.videos):
        whole_truth = videos.track(index).boxes.astype(float)
        whole, masks = videos.frames(index, list(range(len(whole_truth)))), masks_of(videos, index)
        for kind in args.kinds:
            for number, order in enumerate(runs_of(len(whole), kind)):
                parts = [whole[t] for t in order], [masks[t] for t in order], whole_truth[order]
                frames, _, truth = KINDS[kind](*parts)
                for seed in range(args.seeds):
                    handle = pytracking.load(args.tracker, args.param, seed=seed, **overrides)
                    results[kind].append(measures(track(handle, frames, truth[0]), truth))
                    count += len(frames)
                    if args.verbose:
                        row = " ".join(f"{v:.3f}" for v in results[kind][-1])
                        print(f"{name:16s} {kind} run {number} seed {seed}: {row}", flush=True)
    for kind, rows in results.items():
        error = np.std([row[0] for row in rows]) / len(rows) ** 0.5
        print(f"{kind:10s} {len(rows)} runs: {summary(rows)} (AUC +- {error:.4f})")
    print(f"mean of the kinds: {summary([np.mean(rows, axis=0) for rows in results.values()])}")
    print(f"{count / (time.perf_counter() - started):.1f} frames per second, first frames included")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
