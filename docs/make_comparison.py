"""The moving picture of the README: RLS against its baseline on one sequence: ``python docs/make_comparison.py``.

Both start from the same box. Below the picture: the overlap of each with the annotation, frame by frame.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import pytracking
from ltr.overlap import overlap
from pytracking.evaluation import Sequence, get_dataset
from pytracking.utils.image_io import read_image

TRACKERS = {"RLS-DiMP": ("rls_dimp/default", (255, 140, 0)), "BGD-DiMP": ("dimp/bgd", (70, 130, 255))}
TRUTH = (40, 200, 60)
SCALE, CHART, MARGIN = 1.5, 90, 26  # of the frame; pixels
FONT = cv2.FONT_HERSHEY_SIMPLEX


def track(name: str, sequence: Sequence) -> np.ndarray:
    """A tracker's boxes, (n, 4)."""
    tracker = pytracking.load(name)
    tracker.init(read_image(sequence.frames[0]), sequence.init_info()["init_bbox"])
    boxes = [sequence.init_info()["init_bbox"]]
    boxes += [tracker.update(read_image(file))["target_bbox"] for file in sequence.frames[1:]]
    return np.array(boxes, dtype=float)


def picture(
    frame: np.ndarray, number: int, boxes: dict[str, np.ndarray], truth: np.ndarray, overlaps: dict[str, np.ndarray]
) -> np.ndarray:
    """One frame with all boxes, the legend and the overlaps so far."""
    canvas = cv2.resize(frame, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_CUBIC)
    for box, colour, thick in [(truth, TRUTH, 1)] + [(boxes[name][number], TRACKERS[name][1], 2) for name in boxes]:
        x, y, w, h = (int(round(value * SCALE)) for value in box)
        cv2.rectangle(canvas, (x, y), (x + w, y + h), colour, thick, cv2.LINE_AA)
    chart = np.full((CHART, canvas.shape[1], 3), 255, np.uint8)
    for row, name in enumerate(boxes):
        values, colour = overlaps[name][: number + 1], TRACKERS[name][1]
        places = np.linspace(8, chart.shape[1] - 8, len(boxes[name]))[: number + 1]
        points = np.stack([places, CHART - 6 - values * (CHART - MARGIN - 10)], axis=1).round().astype(np.int32)
        cv2.polylines(chart, [points], False, colour, 2, cv2.LINE_AA)
        text = f"{name} {values.mean():.2f}"
        cv2.putText(chart, text, (10 + 150 * row, 17), FONT, 0.5, colour, 1, cv2.LINE_AA)
    label = f"mean overlap, frame {number + 1}"
    cv2.putText(chart, label, (315, 17), FONT, 0.36, (90, 90, 90), 1, cv2.LINE_AA)
    return np.vstack([canvas, chart])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequence", default="lantern", help="of the demo dataset")
    parser.add_argument("--every", type=int, default=3, help="frames between two pictures")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "img" / "rls_against_bgd.webp")
    args = parser.parse_args()
    sequence = get_dataset("demo")[args.sequence]
    truth = sequence.ground_truth_rect
    boxes = {label: track(name, sequence) for label, (name, _) in TRACKERS.items()}
    overlaps = {label: overlap(found, truth) for label, found in boxes.items()}
    for label, values in overlaps.items():
        print(f"{label}: mean overlap {values.mean():.3f}")
    numbers = range(0, len(sequence), args.every)
    frames = [picture(read_image(sequence.frames[n]), n, boxes, truth[n], overlaps) for n in numbers]
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(args.output, save_all=True, append_images=images[1:], duration=80, loop=0, quality=55, method=6)
    print(f"{args.output}: {args.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
