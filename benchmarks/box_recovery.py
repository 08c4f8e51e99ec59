"""Measures how well one refinement recovers from a box of the wrong size, without tracking.

    python benchmarks/box_recovery.py [--tracker dimp] [--network FILE] [--set NAME=VALUE …] [--frames 40]

The tracker starts on the first frame of each sequence of half A of the real validation sequences. In later frames it is
put on boxes of 0.5 to 2.2 times the true size, whose centres are up to a tenth of their size beside the true one.
Prints the overlap with the truth, and the size as a ratio to the true one, after the refinement of one frame. These
numbers depend much less on chance than tracking scores.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from held_out_videos import add_tracker_options, overrides_of
from tqdm import tqdm
from training_validation_table import SEQUENCES, validation_sequences

from pytracking.analysis.metrics import overlap
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.geometry import TargetState
from pytracking.tracker.dimp.refinement import refine_box

RATIOS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.2)  # sizes of the boxes before the refinement, true sizes


def recovered(tracker: DimpTracker, sequence: Sequence, frames: int) -> np.ndarray:
    """Mean overlap, and geometric mean of the size as a ratio to the true one, for each of RATIOS (len(RATIOS), 2)."""
    truth = np.asarray(sequence.ground_truth_rect, float)
    known = np.flatnonzero(np.isfinite(truth).all(1))
    tracker.initialize(sequence.load_frame(known[0]), {"init_bbox": truth[known[0]]})
    generator, rows = np.random.default_rng(0), []
    for number in known[1 :: max(len(known) // frames, 1)]:
        image = sequence.load_frame(number)
        boxes = np.array([refined_from(tracker, image, truth[number], ratio, generator) for ratio in RATIOS])
        sizes = np.log(boxes[:, 2:].prod(1) / truth[number, 2:].prod()) / 2
        rows.append(np.stack([overlap(boxes, truth[number]), sizes], axis=1))
    mean = np.mean(rows, axis=0)
    return np.stack([mean[:, 0], np.exp(mean[:, 1])], axis=1)


def refined_from(
    tracker: DimpTracker, image: np.ndarray, truth: np.ndarray, ratio: float, generator: np.random.Generator
) -> np.ndarray:
    """The box [x, y, w, h] after the tracker was put near the true one at ``ratio`` times its size and refined once."""
    size = truth[2:] * ratio
    centre = truth[:2] + truth[2:] / 2 + (generator.random(2) - 0.5) * 0.2 * size
    box, params = np.concatenate([centre - size / 2, size]), tracker.params
    tracker.state = state = TargetState.from_box(
        box, image.shape[:2], tracker.choose_patch_size(), params.search_area_scale
    )
    patch, frame = tracker.cut_patch(image)
    predictor = tracker.target_iou.at(tracker.extract(patch))
    refined = refine_box(frame.box_in_patch(state.pos, state.size), predictor, params, tracker.generator)
    if refined is not None:
        state.pos, state.size = frame.target_in_frame(refined)
    return np.array(state.box)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=Path, default=SEQUENCES, help="folder of <benchmark>/<sequence>")
    add_tracker_options(parser, "dimp")
    parser.add_argument("--frames", type=int, default=40, help="about this many frames of each sequence")
    args = parser.parse_args()
    if args.frames < 1:
        parser.error(f"argument --frames: must be at least 1, got {args.frames}")
    specification = Tracker(args.tracker, args.param)
    tracker = specification.create_tracker(specification.get_parameters(overrides_of(args)))
    if not (isinstance(tracker, DimpTracker) and tracker.params.use_iou_net):
        parser.error(f"argument --tracker: {args.tracker}/{args.param} has no box head")
    columns = ["sequence", *(f"{ratio:g}" for ratio in RATIOS)]
    tables = [Table("overlap, by size before", columns), Table("size after, by size before", columns)]
    found = {}
    for sequence in tqdm(validation_sequences(args.sequences, "validation_a", None), leave=False):
        found[sequence.name] = recovered(tracker, sequence, args.frames)
    found["mean"] = np.mean(list(found.values()), axis=0)
    for name, rows in found.items():
        for table, numbers in zip(tables, rows.T, strict=True):
            table.rows.append([name, *(Number(float(number), decimals=2) for number in numbers)])
    for table in tables:
        print(f"{table}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
