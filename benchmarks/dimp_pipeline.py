"""Time per part of the DiMP-50 tracker on a CPU, compared with its floor, the network's indispensable convolutions.

    python benchmarks/dimp_pipeline.py [--threads 2] [--frames 8] [--engine torch] [--network mobile]

Default parameters: 10 boxes, 5 refinement iterations, and one update in four frames, as in the measurement of
pytracking that the result is compared with. The floor is the time of backbone, classification features and IoU-Net
convolutions in the same run on the same engine; everything else is cropping, pooling, refinement, localisation, memory
and learning. Each part's time is the median over frames (minimum in brackets). Random weights do not change the cost;
the IoU-Net's last layer is scaled down, so that boxes move by a few pixels, as with a trained one.
"""
from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ltr.engine import ENGINES, attach_engine
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet50, dimpnet_mobile
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker

PYTRACKING = Path(__file__).parents[1] / "tests" / "golden" / "data" / "bench" / "tracker_fps.json"
FLOOR = ("backbone", "classification features", "IoU-Net convolutions")
REST = ("crop", "normalise", "scores", "localise", "refinement without convolutions", "learn")
FOUND = {"target_not_found_threshold": -1e9, "distractor_threshold": 1e9, "hard_negative_threshold": 1e9}


class Stopwatch:
    """Adds up the time spent in wrapped functions, frame by frame."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.frames: list[dict[str, float]] = []

    def wrap(self, owner: object, name: str, label: str) -> None:
        function = getattr(owner, name)

        def timed(*args, **options):
            start = self.clock()
            result = function(*args, **options)
            if self.frames:
                self.frames[-1][label] += self.clock() - start
            return result

        setattr(owner, name, timed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--engine", choices=ENGINES, default="auto")
    parser.add_argument("--network", choices=("dimp50", "mobile"), default="dimp50")
    parser.add_argument("--tracker", choices=("dimp", "rls_dimp"), default="dimp")
    parser.add_argument("--train-skipping", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    network = dimpnet50(filter_size=4, clf_feat_blocks=0) if args.network == "dimp50" else dimpnet_mobile()
    with torch.no_grad():
        network.bb_regressor.iou_predictor.weight.mul_(1e-2)
    network = prepare_for_inference(network.eval())
    attach_engine(network, args.engine, torch.device("cpu"), args.threads)
    common = {"device": "cpu", "cpu_threads": args.threads, "train_skipping": args.train_skipping, **FOUND}
    if args.tracker == "dimp":
        tracker = DimpTracker(DimpParams(**common), network)
    else:
        tracker = RLSDimpTracker(RLSDimpParams(**common), network)
    watch = Stopwatch(time.perf_counter if args.clock == "wall" else time.process_time)
    run(tracker, watch, args.frames)
    report(watch.frames, args)


def run(tracker: DimpTracker, watch: Stopwatch, count: int) -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (360, 480, 3), dtype=np.uint8)
    tracker.initialize(image, {"init_bbox": [200, 140, 60, 60]})
    network = tracker.network
    watch.wrap(network, "backbone_features", "backbone")
    watch.wrap(network, "normalise", "normalise")
    watch.wrap(network, "classification_features", "classification features")
    watch.wrap(network.classifier, "classify", "scores")
    watch.wrap(tracker.target_iou.head, "maps", "IoU-Net convolutions")
    watch.wrap(tracker, "cut_patch", "crop")
    watch.wrap(tracker, "localize", "localise")
    watch.wrap(tracker, "_refine", "refinement")
    watch.wrap(tracker, "_learn", "learn")
    for _ in range(count):
        tracker.state.pos, tracker.state.size = np.array([170.0, 230.0]), np.array([60.0, 60.0])
        tracker.state.scale = 60 * 5 / tracker.params.image_sample_size
        watch.frames.append(defaultdict(float))
        start = watch.clock()
        tracker.track(image)
        frame = watch.frames[-1]
        frame["frame"] = watch.clock() - start
        frame["refinement without convolutions"] = frame.pop("refinement") - frame["IoU-Net convolutions"]
        frame["floor"] = sum(frame[part] for part in FLOOR)
        frame["share"] = 1 - frame["floor"] / frame["frame"]


def report(frames: list[dict[str, float]], args: argparse.Namespace) -> None:
    print(f"{args.tracker} on {args.network}, engine {args.engine}: {len(frames)} frames, {args.threads} threads, "
          f"{args.clock} clock, an update every {args.train_skipping} frames")  # fmt: skip
    for part in (*FLOOR, "floor", *REST, "frame"):
        values = [1e3 * frame[part] for frame in frames]
        middle = np.mean(values) if part == "learn" else np.median(values)
        print(f"  {part:<32} {middle:8.2f} ms  ({min(values):.2f})" + ("  mean" if part == "learn" else ""))
    # A frame's floor and total are measured together, so other load hardly affects their ratio.
    overall = 1 - sum(frame["floor"] for frame in frames) / sum(frame["frame"] for frame in frames)
    print(f"  everything else: {100 * np.median([frame['share'] for frame in frames]):.1f} % of the frame (median), "
          f"{100 * overall:.1f} % of all frames")  # fmt: skip
    if args.network == "dimp50" and PYTRACKING.exists():
        compare(frames, args.threads)


def compare(frames: list[dict[str, float]], threads: int) -> None:
    recorded = json.loads(PYTRACKING.read_text())["results"].get(f"new_dimp50_threads{threads}")
    if recorded:
        theirs = sum(recorded["best_run_parts_mean_s_per_frame"].values())
        ours = float(np.mean([frame["frame"] for frame in frames]))
        print(f"  pytracking with pooling on the CPU, recorded on 2 cores, {threads} threads: {1e3 * theirs:.0f} ms")
        print(f"  this run {1e3 * ours:.0f} ms: {theirs / ours:.2f} times its speed")


if __name__ == "__main__":
    main()
