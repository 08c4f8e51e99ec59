"""Makes the README's animation: RLS-DiMP on all short sequences of the demo dataset.

    make demo
    python docs/make_moving_picture.py

It shows the results of the first command and, below each sequence, the mean overlap with the annotation so far.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from ltr.overlap import overlap
from pytracking.evaluation import Sequence, Tracker, get_dataset
from pytracking.evaluation.results import boxes_file, read_boxes
from pytracking.utils.image_io import read_image

TRACKED, TRUTH = (255, 140, 0), (40, 200, 60)
WIDTH, HEIGHT, LABEL = 213, 160, 18  # pixels of a sequence's picture and of the line below it
COLUMNS = 3
LONGEST = 600  # frames; longer sequences are left out


def tile(sequence: Sequence, boxes: np.ndarray, overlaps: np.ndarray, number: int) -> np.ndarray:
    """Draws one frame of a sequence with both boxes and the mean overlap so far."""
    frame = read_image(sequence.frames[number])
    scale = np.array([WIDTH / frame.shape[1], HEIGHT / frame.shape[0]] * 2)
    picture = cv2.resize(frame, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    for box, colour in ((sequence.ground_truth_rect[number], TRUTH), (boxes[number], TRACKED)):
        if np.isfinite(box).all():
            x, y, w, h = (box * scale).round().astype(int).tolist()
            cv2.rectangle(picture, (x, y), (x + w, y + h), colour, 2 if colour == TRACKED else 1, cv2.LINE_AA)
    label = np.full((LABEL, WIDTH, 3), 255, np.uint8)
    text = f"{sequence.name}: {np.nanmean(overlaps[: number + 1]):.2f}"
    cv2.putText(label, text, (4, LABEL - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (60, 60, 60), 1, cv2.LINE_AA)
    return np.vstack([picture, label])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", default="rls_dimp/default", help="tracker whose results are shown")
    parser.add_argument("--pictures", type=int, default=40, help="number of pictures, spread evenly over each sequence")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "img" / "demo.webp")
    args = parser.parse_args()
    tracker = Tracker(*args.tracker.split("/"))
    sequences = [sequence for sequence in get_dataset("demo") if len(sequence) <= LONGEST]
    files = [boxes_file(tracker.results_dir, sequence.name) for sequence in sequences]
    if missing := [file.name for file in files if not file.exists()]:
        parser.error(f"{tracker.results_dir} lacks {', '.join(missing)}: run `make demo` first")
    boxes = [read_boxes(file) for file in files]
    overlaps = [overlap(found, sequence.ground_truth_rect) for found, sequence in zip(boxes, sequences, strict=True)]
    for sequence, values in zip(sequences, overlaps, strict=True):
        print(f"{sequence.name}: mean overlap {np.nanmean(values):.3f}")
    images = []
    for moment in np.linspace(0, 1, args.pictures):
        tiles = [
            tile(sequence, found, values, round(moment * (len(sequence) - 1)))
            for sequence, found, values in zip(sequences, boxes, overlaps, strict=True)
        ]
        rows = [np.hstack(tiles[start : start + COLUMNS]) for start in range(0, len(tiles), COLUMNS)]
        images.append(Image.fromarray(np.vstack(rows)))
    images[0].save(args.output, save_all=True, append_images=images[1:], duration=130, loop=0, quality=32, method=4)
    print(f"{args.output}: {len(images)} pictures, {args.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
