"""Finds the worst moments of a tracker on annotated sequences: a table, a figure and, optionally, the frames.

    python -m docs.make_failure_pages RESULTS TRACKER/PARAM --sequences FOLDER [--pictures FOLDER]

RESULTS is a result folder of benchmarks/training_validation_table.py. A moment is a run of frames with an overlap below
one half; its cost is the overlap lost. The figure shows boxes and curves but no pixels, because the frames may not be
redistributed; --pictures draws the same moments on them.
"""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import cv2
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.training_validation_table import SEQUENCES, validation_sequences
from pytracking.analysis.metrics import overlap
from pytracking.evaluation.results import read_boxes
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.contact_sheet import COLOURS, captioned, draw_box, grid
from pytracking.utils.image_io import read_image

POOR = 0.5  # overlap below which a frame belongs to a failure
SHORTEST = 5  # frames
PER_SEQUENCE = 2  # failures shown at most
SHOWN = (-5, 0, 5, 20)  # frames drawn, relative to the first of the failure


class Failure(NamedTuple):
    """A run of frames with a poor overlap."""

    sequence: Sequence
    boxes: np.ndarray  # (n, 4), the tracker's
    overlaps: np.ndarray  # (n,), NaN where the target is absent
    first: int
    last: int

    @property
    def cost(self) -> float:
        """Overlap lost, in frames."""
        return float(np.nansum(1 - self.overlaps[self.first : self.last + 1]))


def failures(sequence: Sequence, boxes: np.ndarray) -> list[Failure]:
    """Finds the failures in a sequence; a single good frame does not end one."""
    truth = np.asarray(sequence.ground_truth_rect, float)
    known = np.isfinite(truth).all(1)
    values = np.full(len(truth), np.nan)
    values[known] = overlap(boxes[known], truth[known])
    last_known = np.maximum.accumulate(np.where(known, np.arange(len(truth)), 0))
    poor = np.nan_to_num(values[last_known], nan=1.0) < POOR  # frames without a target repeat the last known overlap
    poor[1:-1] |= poor[:-2] & poor[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], poor.astype(int), [0]])))
    stretches = zip(edges[::2], edges[1::2] - 1, strict=True)
    return [Failure(sequence, boxes, values, int(a), int(b)) for a, b in stretches if b - a + 1 >= SHORTEST]


def draw(found: list[Failure], path: Path) -> None:
    """Draws one row per failure: boxes at four moments, and the overlap over time."""
    figure, axes = plt.subplots(len(found), len(SHOWN) + 1, figsize=(12, 1.5 * len(found)), squeeze=False)
    for row, failure in zip(axes, found, strict=True):
        truth = np.asarray(failure.sequence.ground_truth_rect, float)
        height, width = read_image(failure.sequence.frames[0]).shape[:2]
        for axis, step in zip(row, SHOWN, strict=False):
            frame = int(np.clip(failure.first + step, 0, len(truth) - 1))
            for box, colour in ((truth[frame], "tab:green"), (failure.boxes[frame], "tab:orange")):
                if np.isfinite(box).all():
                    axis.add_patch(plt.Rectangle(box[:2], *box[2:], fill=False, color=colour, linewidth=1.5))
            axis.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])
            axis.set_title(f"frame {frame + 1}", fontsize=7, pad=2)
        low, high = max(0, failure.first - 30), min(len(truth), failure.first + 90)
        row[-1].plot(range(low + 1, high + 1), failure.overlaps[low:high], color="tab:orange", linewidth=1)
        row[-1].axvline(failure.first + 1, color="grey", linewidth=0.8)
        row[-1].set(ylim=(0, 1), yticks=[0, 1])
        row[-1].tick_params(labelsize=6)
        row[0].set_ylabel(failure.sequence.name, fontsize=7)
    axes[0, -1].set_title("overlap", fontsize=7, pad=2)
    figure.tight_layout(pad=0.4)
    figure.savefig(path, dpi=110)


def pictures_of(failure: Failure) -> list[np.ndarray]:
    """Draws the same moments on the frames."""
    pictures = []
    for step in SHOWN:
        frame = int(np.clip(failure.first + step, 0, len(failure.overlaps) - 1))
        image = read_image(failure.sequence.frames[frame]).copy()
        draw_box(image, failure.sequence.ground_truth_rect[frame], COLOURS["truth"])
        draw_box(image, failure.boxes[frame], COLOURS["prediction"])
        pictures.append(captioned(image, f"{failure.sequence.name} {frame + 1}", 320))
    return pictures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("tracker", help="folder below RESULTS, e.g. rls_dimp/default@dimp_mobile")
    parser.add_argument("--sequences", type=Path, default=SEQUENCES)
    parser.add_argument("--split", default="real_validation", help="split file of ltr/dataset/splits, or a .txt file")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--figure", type=Path, default=Path(__file__).parent / "img" / "failures.png")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the frames, not to be redistributed")
    args = parser.parse_args()
    found: list[Failure] = []
    for sequence in validation_sequences(args.sequences, args.split, None):
        found += failures(sequence, read_boxes(args.results / args.tracker / f"{sequence.name}.txt"))
    worst: list[Failure] = []
    for failure in sorted(found, key=lambda failure: -failure.cost):
        if sum(other.sequence is failure.sequence for other in worst) < PER_SEQUENCE:
            worst.append(failure)
    worst = worst[: args.count]
    print("| sequence | frames | overlap lost |\n|---|---|---:|")
    for failure in worst:
        print(f"| {failure.sequence.name} | {failure.first + 1} to {failure.last + 1} | {failure.cost:.0f} |")
    draw(worst, args.figure)
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
        sheet = grid([pictures_of(failure) for failure in worst])
        cv2.imwrite(str(args.pictures / f"{args.figure.stem}_frames.png"), sheet[..., ::-1])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
