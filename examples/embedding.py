"""Use a tracker in your own loop: frames from anywhere in, boxes and scores out.

    python examples/embedding.py [--tracker rls_dimp/default] [--frames 120] [--output picture.png]

Draws the score of every frame, and the frames with the highest and the lowest score.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import pytracking
from pytracking.evaluation import get_dataset
from pytracking.utils.image_io import read_image
from pytracking.video.overlay import draw_output


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", default="rls_dimp/default")
    parser.add_argument("--sequence", default="runner", help="sequence of the demo dataset")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--output", type=Path, default=Path("embedding.png"))
    args = parser.parse_args(argv)
    sequence = get_dataset("demo")[args.sequence]
    tracker = pytracking.load(args.tracker)
    tracker.init(read_image(sequence.frames[0]), sequence.init_info()["init_bbox"])
    seen = []
    for file in sequence.frames[1 : args.frames]:
        frame = read_image(file)
        output = tracker.update(frame)
        seen.append((output.get("score", 1.0), draw_output(frame, output), tracker.seconds))
    draw_figure(seen, args.output)
    rate = len(seen) / sum(seconds for _, _, seconds in seen)
    print(f"{len(seen)} frames at {rate:.0f} frames/s; picture: {args.output}")


def draw_figure(seen: list[tuple], path: Path) -> None:
    from matplotlib.figure import Figure

    scores = [score for score, _, _ in seen]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    places = figure.subplot_mosaic([["best", "worst"], ["scores", "scores"]], height_ratios=[2, 1])
    for name, number in (("best", scores.index(max(scores))), ("worst", scores.index(min(scores)))):
        places[name].imshow(seen[number][1])
        places[name].set_title(f"frame {number + 2}, score {scores[number]:.2f}")
        places[name].axis("off")
    places["scores"].plot(range(2, len(scores) + 2), scores)
    places["scores"].set(xlabel="frame", ylabel="score")
    places["scores"].grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
