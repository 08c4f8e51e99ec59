"""Measures what an exact solution for RT-MDNet's last layer would remember: margins on past and next frames.

    python benchmarks/rtmdnet_last_layer.py demo lantern_long --frames 500
    python benchmarks/rtmdnet_last_layer.py davis blackswan camel dog --root DAVIS --step 2 --window 10

Follows the true boxes of a sequence, gives `rls_rtmdnet` the samples of every ``--step``-th frame, and after each
regular update tests four last layers on the same fc5 features: the learner's fc6, and exact solutions on the stored
frames (window) or on all frames so far, by least squares and by logistic regression, with balanced classes. Features of
past frames are recomputed with the current fc4 and fc5. Margin: mean score of the five best target boxes minus the
highest background score, in standard deviations of the frame's scores; hit: the margin is positive.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ltr.dataset.masks import MaskVideos
from pytracking.evaluation import get_dataset
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.rtmdnet.first_frame import POSITIVES
from pytracking.tracker.rtmdnet.rtmdnet import FRAME_NEGATIVES, RtmdnetTracker
from pytracking.tracker.rtmdnet.sampling import draw_around

RIDGE = 1e-3  # relative to the mean diagonal of the normal equations
NEWTON_STEPS = 6
AHEAD = 5  # number of next frames tested
LEARNERS = ("fc6 as learnt", "least squares, window", "least squares, all", "logistic, all")


def frames_of(args: argparse.Namespace) -> list[tuple[str, list, np.ndarray]]:
    """Names, functions that load a frame, and boxes, of every ``step``-th frame with a visible target."""
    found = []
    for name in args.sequences:
        if args.source == "davis":
            videos = MaskVideos(args.root, only=[name])
            boxes, visible = videos.track(0).boxes, videos.track(0).visible
            load = lambda t, videos=videos: videos.frames(0, [t])[0]  # noqa: E731
        else:
            sequence = get_dataset("demo")[name]
            boxes, load = np.asarray(sequence.ground_truth_rect, float), sequence.load_frame
            visible = np.isfinite(boxes).all(1) & (boxes[:, 2:].min(1) > 2)
        numbers = [t for t in range(0, min(args.frames, len(boxes)), args.step) if visible[t]]
        found.append((name, [lambda t=t, load=load: load(t) for t in numbers], boxes[numbers].astype(float)))
    return found


def samples_at(tracker: RtmdnetTracker, image: np.ndarray, box: np.ndarray) -> tuple[Tensor, Tensor]:
    """Features of target and background boxes around the true box, as the tracker draws them."""
    params, size = tracker.params, image.shape[:2]
    tracker.target = box
    drawn = [
        draw_around(tracker.rng, kind, box, count, size, overlap_range=overlap)
        for kind, count, overlap in (
            (POSITIVES, params.frame_positives, params.frame_positive_overlap),
            (FRAME_NEGATIVES, params.frame_negatives, params.frame_negative_overlap),
        )
    ]
    features = tracker._features_of(tracker.features.image(image), np.concatenate(drawn), drawn[1], size)
    return features[: len(drawn[0])], features[len(drawn[0]) :]


@torch.no_grad()
def hidden(tracker: RtmdnetTracker, features: Tensor) -> Tensor:
    """Outputs of fc5 and a constant 1, (n, 513), float64."""
    for layer in tracker.learner.head.layers[:-1]:
        features = torch.relu(layer(features))
    return torch.cat([features, features.new_ones(len(features), 1)], 1).double()


def weighted_solution(rows: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Minimises the weighted squared error with a small ridge penalty."""
    gram = rows.T @ (rows * weights[:, None])
    gram.diagonal().add_(RIDGE * gram.diagonal().mean())
    return torch.linalg.solve(gram, rows.T @ (weights * targets))


def logistic_solution(rows: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Logistic regression on targets of -1 and 1 by Newton's method, started from least squares."""
    solution = weighted_solution(rows, targets, weights)
    for _ in range(NEWTON_STEPS):
        scores = (rows @ solution).clamp(-20, 20)
        probability = torch.sigmoid(scores)
        slope = (probability * (1 - probability)).clamp_min(1e-4)
        working = scores + ((targets + 1) / 2 - probability) / slope
        solution = weighted_solution(rows, working, weights * slope)
    return solution


def exact_solutions(pairs: list[tuple[Tensor, Tensor]], window: int) -> list[Tensor]:
    def data(chosen: list) -> tuple[Tensor, Tensor, Tensor]:
        positive, negative = (torch.cat(kind) for kind in zip(*chosen, strict=True))
        targets = torch.cat([torch.ones(len(positive)), -torch.ones(len(negative))]).double()
        weights = torch.where(targets > 0, 0.5 / len(positive), 0.5 / len(negative))
        return torch.cat([positive, negative]), targets, weights

    return [weighted_solution(*data(pairs[-window:])), weighted_solution(*data(pairs)), logistic_solution(*data(pairs))]


def margin(solution: Tensor, pair: tuple[Tensor, Tensor]) -> float:
    positive, negative = (rows @ solution for rows in pair)
    best = positive.topk(min(5, len(positive))).values.mean()
    return float((best - negative.max()) / torch.cat([positive, negative]).std())


def probe(tracker: RtmdnetTracker, loaders: list, boxes: np.ndarray, window: int) -> dict[tuple[str, str], list[float]]:
    """Margins after each update, by learner, on past frames (older than the window) and on the next frames."""
    margins: dict[tuple[str, str], list[float]] = {}
    tracker.initialize(loaders[0](), {"init_bbox": boxes[0].tolist(), "seed": 0})
    stored: list[tuple[Tensor, Tensor]] = []
    ahead = [samples_at(tracker, load(), box) for load, box in zip(loaders, boxes, strict=True)]
    for number, pair in enumerate(ahead[: -AHEAD]):
        stored.append(pair)
        tracker.positives.add(pair[0])
        tracker.negatives.add(pair[1])
        if number == 0 or number % tracker.params.update_interval:
            continue
        tracker.learner.update_regularly(tracker.positives.last(), tracker.negatives.last())
        seen = [tuple(hidden(tracker, part) for part in each) for each in stored]
        coming = [tuple(hidden(tracker, part) for part in each) for each in ahead[number + 1 : number + 1 + AHEAD]]
        fc6 = tracker.learner.head.layers[-1]
        own = torch.cat([fc6.weight[1], fc6.bias[1:]]).detach().double()
        for name, solution in zip(LEARNERS, [own, *exact_solutions(seen, window)], strict=True):
            for when, pairs in (("past", seen[:-window] or seen[:1]), ("next", coming)):
                margins.setdefault((name, when), []).extend(margin(solution, each) for each in pairs)
    return margins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=("demo", "davis"))
    parser.add_argument("sequences", nargs="+")
    parser.add_argument("--root", type=Path, help="davis: folder with JPEGImages and Annotations")
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--step", type=int, default=5)
    parser.add_argument("--window", type=int, default=20, help="number of frames that a learner stores")
    args = parser.parse_args()
    if args.source == "davis" and args.root is None:
        parser.error("davis needs --root, the folder with JPEGImages and Annotations")
    print(f"{'sequence':<16}{'last layer':<24}{'past':>8}{'hits':>7}{'next':>8}{'hits':>7}")
    for name, loaders, boxes in frames_of(args):
        tracker = Tracker("rls_rtmdnet", "default", network="rtmdnet_small").create_tracker({"long_term": args.window})
        margins = probe(tracker, loaders, boxes, args.window)
        for learner in LEARNERS:
            cells = [np.array(margins[learner, when]) for when in ("past", "next")]
            text = "".join(f"{values.mean():8.2f}{(values > 0).mean():7.2f}" for values in cells)
            print(f"{name:<16}{learner:<24}{text}", flush=True)


if __name__ == "__main__":
    main()
