"""Extra cost of RLS over BGD for PrDiMP, SuperDiMP and ATOM, measured as in ``dimp_rls_cost.py``.

    python benchmarks/family_rls_cost.py [--threads 1] [--clock cpu] [--families prdimp super_dimp atom]

PrDiMP and SuperDiMP learn p = 8192 numbers on 22 x 22 cells of 50 samples, ATOM 1024 numbers on 18 x 18 cells of 250.
Regular updates come every 20th frame, ATOM's every 10th. Random weights do not change the cost.
"""
from __future__ import annotations

import argparse
import time
from dataclasses import replace

import torch
from dimp_rls_cost import MIB, fill, time_frame, time_updates

from ltr.models.bbreg.atom import atom_resnet18
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet50, klcedimpnet50
from pytracking.parameter.atom import default as atom
from pytracking.parameter.dimp import prdimp50, super_dimp
from pytracking.tracker.atom.atom import AtomTracker
from pytracking.tracker.atom.objective import AtomObjective
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.learner import GradientDescentLearner
from pytracking.tracker.dimp.params import AugmentationParams
from pytracking.tracker.rls_atom.params import RLSAtomParams
from pytracking.tracker.rls_dimp.learner import RLSLearner, VirtualInput
from pytracking.tracker.rls_dimp.params import RLSDimpParams

FAMILIES = {  # tracker, parameters, network, frames between regular updates
    "prdimp": (DimpTracker, prdimp50, lambda: klcedimpnet50(filter_size=4), 20),
    "super_dimp": (DimpTracker, super_dimp, lambda: dimpnet50(filter_size=4, clf_feat_blocks=0), 20),
    "atom": (AtomTracker, atom, atom_resnet18, 10),
}
FEW = AugmentationParams(relative_shifts=(), flip_horizontal=False, blurs=(), rotations=())  # a short start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--repetitions", type=int, default=34, help="rounds; P gives directions up every 17th")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    for family in args.families:
        torch.manual_seed(0)
        tracker = make_tracker(family)
        frame = time_frame(tracker, clock, args.repetitions)
        problem, filters = full_problem(tracker), tracker.filters
        print(f"{family}: p = {filters.numel()}, frame without update {1e3 * frame:.1f} ms ({args.clock} clock)")
        bgd = GradientDescentLearner(1e-6)
        budget = int((RLSAtomParams if family == "atom" else RLSDimpParams)().p_memory_mib * MIB)
        rls = RLSLearner(1e-6, delta=1.0, beta=1.0, block_input=VirtualInput(), memory_budget=budget)
        for learner in (bgd, rls):
            learner.start(filters, torch.Generator())
        fill(rls.inverse)
        every = FAMILIES[family][3]
        for name, num_iter, share in ((f"every {every}th frame", 5, 1 / every), ("distractor every 5th", 1, 1 / 5)):
            plain, more = time_updates((bgd, rls), problem, filters, num_iter, clock, args.repetitions)
            slower = more * share / (frame + plain * share)
            text = f"BGD {1e3 * plain:6.2f} ms, RLS {1e3 * more:5.2f} ms more; slower by {100 * slower:.2f} %"
            print(f"  {name:<22} {text}")


def make_tracker(family: str) -> DimpTracker:
    tracker_class, parameters, make_network, _ = FAMILIES[family]
    network = make_network().eval()
    network.bb_regressor.iou_predictor.weight.mul_(1e-2)  # boxes move by a few pixels, as with a trained network
    params = replace(
        parameters.parameters(),
        device="cpu",
        augmentation=FEW,
        update_classifier=False,
        target_not_found_threshold=-1e9,
    )
    return tracker_class(params, prepare_for_inference(network))


def full_problem(tracker: DimpTracker):
    """The learning problem for a full memory."""
    count = tracker.params.sample_memory_size
    features = torch.randn(count, *tracker.memory.features.shape[1:]) / 90
    boxes = torch.full((count, 4), 100.0)
    if not isinstance(tracker, AtomTracker):
        return tracker.network.objective(features, boxes, None)
    labels = tracker.labels(boxes, features)[None]
    weight = torch.full((1, count, 1, 1), count**-0.5)
    return AtomObjective(features[None], labels, weight, torch.tensor([0.1]), 0.05)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
