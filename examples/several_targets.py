"""Track several targets in one video with one network pass for all; the second target joins later.

    python examples/several_targets.py [--tracker rls_dimp/default] [--frames 60] [--output picture.jpg]

Two sequences of the demo dataset are put side by side, so that each frame has two annotated targets.
"""
from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import pytracking
from pytracking.evaluation import get_dataset
from pytracking.utils.image_io import read_image, write_image
from pytracking.video.overlay import draw_targets

NAMES = ("fish", "beetle")


def side_by_side(frames: int) -> Iterator[tuple[np.ndarray, dict[int, list[float]]]]:
    """Yields frames with two targets, and the box of each."""
    dataset = get_dataset("demo")
    left, right = (dataset[name] for name in NAMES)
    for number in range(min(frames, len(left), len(right))):
        first, second = read_image(left.frames[number]), read_image(right.frames[number])
        shifted = right.ground_truth_rect[number] + np.array([first.shape[1], 0, 0, 0])
        yield np.hstack([first, second]), {1: left.ground_truth_rect[number].tolist(), 2: shifted.tolist()}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", default="rls_dimp/default")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("several_targets.jpg"))
    args = parser.parse_args(argv)
    targets = pytracking.load(args.tracker).several()
    joins = args.frames // 4  # frame at which the second target is added
    for number, (frame, truth) in enumerate(side_by_side(args.frames)):
        if number == 0:
            outputs = targets.init(frame, {1: truth[1]})
            continue
        outputs = targets.update(frame)
        if number == joins:
            outputs[2] = targets.add(frame, 2, truth[2])
    for target, output in outputs.items():
        box = ", ".join(f"{value:.0f}" for value in output["target_bbox"])
        print(f"target {target}: {box}   annotated: {', '.join(f'{value:.0f}' for value in truth[target])}")
    write_image(args.output, draw_targets(frame, outputs, f"{len(outputs)} targets"))
    print(f"picture: {args.output}")


if __name__ == "__main__":
    main()
