"""Cost of the networks' parts, and the gain from each optimisation.

    python benchmarks/network_pieces.py [--network dimpnet50]

Every line compares two ways of computing the same result, measured alternately in one run (best of several), so that
ratios are meaningful on a busy machine too.
"""
from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from ltr.checkpoint import load_network
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import apply_filter, correlate_with_residual
from ltr.models.target_classifier.objective import centre_distance
from ltr.models.tracking import dimpnet
from ltr.models.tracking.mdnet import mdnet
from ltr.ops import roi_sample
from ltr.weights import find_weights

PUBLISHED = {"filter_size": 4, "num_dist_bins": 100, "bin_displacement": 0.1, "init_gauss_sigma": 0.9}
NETWORKS = {
    "dimpnet18": lambda: dimpnet.dimpnet18(**PUBLISHED),
    "dimpnet50": lambda: dimpnet.dimpnet50(clf_feat_blocks=0, **PUBLISHED),
    "dimp_mobile": lambda: load_network(find_weights("dimp_mobile", [])),  # the bundled network
}


def measure(ways: list[Callable[[], object]], rounds: int, clock: Callable[[], float]) -> list[float]:
    """Best time of each way in milliseconds, measured in turns."""
    best = [float("inf")] * len(ways)
    for way in ways:
        way()
    for _ in range(rounds):
        for index, way in enumerate(ways):
            start = clock()
            way()
            best[index] = min(best[index], 1e3 * (clock() - start))
    return best


class Report:
    """Times of each piece, and their ratios."""

    def __init__(self, rounds: int, clock: Callable[[], float]) -> None:
        self.rounds, self.clock = rounds, clock
        print(f"{'piece':<46}{'plain':>12}{'here':>12}{'ratio':>8}")

    def compare(self, name: str, plain: Callable[[], object], here: Callable[[], object]) -> None:
        before, after = measure([plain, here], self.rounds, self.clock)
        print(f"{name:<46}{before:>9.2f} ms{after:>9.2f} ms{before / after:>7.1f}x", flush=True)


def refine(predict: Callable, boxes: torch.Tensor, iterations: int) -> torch.Tensor:
    for _ in range(iterations):
        _, gradient = predict(boxes)
        boxes = boxes + 1e-3 * gradient.clamp(-1, 1)  # small steps, because untrained weights would scatter the boxes
    return boxes


def autograd_predictor(network, modulation, features):
    """The textbook implementation: whole maps, modulation of the maps, autograd through the pooling."""
    fine, coarse = network.test_features(features)

    def predict(boxes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            boxes = boxes.detach().requires_grad_()
            overlap = network.predict(modulation, (fine, coarse), boxes[None])[0]
            return overlap, torch.autograd.grad(overlap.sum(), boxes)[0]

    return predict


def dimp_pieces(report: Report, name: str, size: int) -> None:
    torch.manual_seed(0)
    plain = NETWORKS[name]().eval()
    fast = prepare_for_inference(copy.deepcopy(plain))
    image = torch.randn(1, 3, size, size)
    with torch.inference_mode():
        report.compare(
            f"backbone, {size} px", lambda: plain.feature_extractor(image), lambda: fast.backbone_features(image)
        )
    with torch.no_grad():
        features = fast.backbone_features(image)
        plain_features = plain.feature_extractor(image)
        report.compare(
            "classification features",
            lambda: plain.classification_features(plain_features),
            lambda: fast.classification_features(features),
        )
        side = size / 5
        target = torch.tensor([(size - side) / 2, (size - side) / 2, side, side])
        boxes = target + 4 * torch.randn(10, 4)
        modulation = plain.bb_regressor.modulation(plain_features, target[None])
        folded = fast.target_iou(features, target)
        report.compare(
            "IoU-Net, 10 boxes x 5 gradients, all included",
            lambda: refine(autograd_predictor(plain.bb_regressor, modulation, plain_features), boxes, 5),
            lambda: refine(folded.at(features).iou_and_gradient, boxes, 5),
        )
        memory_pieces(report, fast, features, target)


def memory_pieces(report: Report, network, features: dict[str, torch.Tensor], target: torch.Tensor) -> None:
    samples = network.classification_features(features).repeat(50, 1, 1, 1)
    filters = torch.randn(1, samples.shape[1], 4, 4) / 50
    boxes = target.repeat(50, 1)
    report.compare(
        "filter on 50 samples",
        lambda: functional.conv2d(samples, filters, padding=2),
        lambda: apply_filter(samples[None], filters),
    )
    residual = torch.randn(1, 50, samples.shape[-2] + 1, samples.shape[-1] + 1)
    report.compare(
        "gradient on 50 samples",
        lambda: torch.nn.grad.conv2d_weight(samples, filters.shape, residual[0, :, None], padding=2),
        lambda: correlate_with_residual(samples[None], residual, 4),
    )
    optimizer = network.classifier.filter_optimizer
    size = (residual.shape[-2], residual.shape[-1])

    def triangular_maps() -> list[torch.Tensor]:
        distance = centre_distance(boxes[None], size, 4, 16)[0, :, None] / optimizer.bin_displacement
        bins = torch.arange(optimizer.label_map_predictor.weight.shape[1]).view(1, -1, 1, 1)
        channels = (1 - (distance - bins).abs()).clamp(min=0)
        return [
            layer(channels)
            for layer in (
                optimizer.label_map_predictor, optimizer.target_mask_predictor, optimizer.spatial_weight_predictor
            )
        ]

    report.compare(
        "label, mask and weight maps of 50 samples", triangular_maps, lambda: network.objective(samples, boxes)
    )


def mdnet_pieces(report: Report) -> None:
    torch.manual_seed(0)
    scene = torch.randn(1, 3, 300, 340) * 50
    for spec in ("vggm", "alexnet"):
        plain = mdnet(spec=spec).eval()
        fast = prepare_for_inference(copy.deepcopy(plain))
        with torch.inference_mode():
            layers = plain.layers
            report.compare(
                f"MDNet {spec}: conv1-3 of a 300x340 scene",
                lambda layers=layers: layers.conv3(layers.conv2(layers.conv1(scene))),
                lambda fast=fast: fast.feature_map(scene),
            )
            fmap = fast.feature_map(scene)
            rois = torch.rand(256, 5) * 100
            rois[:, 0], rois[:, 3:] = 0, rois[:, 1:3] + 50 + 50 * torch.rand(256, 2)
            report.compare(
                f"MDNet {spec}: 256 boxes, adaptive 7x7",
                lambda fmap=fmap, rois=rois: torch.cat([roi_sample(fmap, r[None], 7, 1 / 8, "adaptive") for r in rois]),
                lambda fmap=fmap, rois=rois: roi_sample(fmap, rois, 7, 1 / 8, "adaptive"),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS, action="append", help="may be given several times; default all")
    parser.add_argument("--size", type=int, default=288, help="side of the crop in pixels")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    # With one thread, this thread's processor time is independent of other load.
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    print(f"{args.threads} thread(s), best of {args.rounds}, {'CPU' if args.threads == 1 else 'wall-clock'} time")
    for name in args.network or NETWORKS:
        print(f"\n{name}")
        dimp_pieces(Report(args.rounds, clock), name, args.size)
    print("\nMDNet")
    mdnet_pieces(Report(args.rounds, clock))


if __name__ == "__main__":
    main()
