"""RT-MDNet on AlexNet's frozen first convolutions: the small network that ships with the package.

The features of all boxes are computed once and cached; fc4 and fc5 learn to separate targets from their surroundings in
many domains, each with its own branch. A domain is a video with masks, or an object in a photograph, shown in varying
colours and sharpness. No frames of tracking benchmarks are used.
"""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ltr.actors.mdnet import MdnetActor
from ltr.admin.environment import training_path
from ltr.data.augmentation import Augmentation
from ltr.data.box_feature_cache import BoxFeatureCache, build_box_cache
from ltr.data.mdnet_examples import BoxCounts, MdnetExamples, visible_videos
from ltr.dataset.base import VideoDataset
from ltr.dataset.coco import coco_parts
from ltr.dataset.masks import MaskVideos
from ltr.dataset.split import read_split
from ltr.dataset.sprites import SpriteBank
from ltr.dataset.stills import CubStills, StillParts, VocStills
from ltr.dataset.synthetic import SyntheticVideos
from ltr.models.tracking.mdnet import MDNet, alexnet_convolutions, mdnet
from ltr.trainers.plan import RunOptions, TrainingPlan, cosine_decay

NETWORK = {"spec": "alexnet"}
TRACKER = {"mined_negatives": 192, "search_samples": 192}  # fewer candidates: two thirds of the time (docs/rtmdnet.md)
AUGMENTATION = Augmentation(brightness=0.25, contrast=0.25, colour=0.08, blur=0.2, motion=0.2, coarse=0.2)
Domains = list[tuple[VideoDataset, int]]


@dataclass(frozen=True, slots=True)
class Amounts:
    """Size of the training."""

    video_frames: int = 24  # cached frames per video
    still_frames: int = 3  # cached views per object in a photograph
    counts: BoxCounts = BoxCounts(frames=1, positive=16, negative=48)  # per cached frame
    cycles: int = 1  # rounds through the domains per epoch; each round visits a video eight times
    epochs: int = 4


SMOKE = Amounts(2, 2, counts=BoxCounts(frames=1, positive=4, negative=12), cycles=2, epochs=1)
STILLS = {"voc": 60, "voc parts": 10, "coco": 14, "cub": 6, "parts of voc": 10}  # objects per source


def build(options: RunOptions) -> TrainingPlan:
    """Completes the cached features and plans the training."""
    amounts = SMOKE if options.smoke else Amounts()
    videos, stills = drawn_domains() if options.smoke else (video_domains(), still_domains())
    network = make_network(options, len(videos) + len(stills))
    caches = [
        cache(options, network, "videos", videos, amounts.video_frames, amounts.counts),
        cache(options, network, "stills", stills, amounts.still_frames, amounts.counts),
    ]
    epochs = options.epochs or amounts.epochs
    examples = BoxFeatureCache(caches, frames=8, positive=32, negative=192, cycles=amounts.cycles, seed=options.seed)
    return TrainingPlan(
        actor=MdnetActor(network, hard_negatives=96),
        examples=examples,
        parameter_groups=[
            {"params": list(network.layers.fc4.parameters()) + list(network.layers.fc5.parameters()), "lr": 1e-3},
            {"params": list(network.branches.parameters()), "lr": 1e-2},
        ],
        constructor={"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": NETWORK},
        metadata={"tracker": TRACKER},
        epochs=epochs,
        batch_size=1,
        accumulate=1,
        optimizer="sgd",
        weight_decay=5e-4,
        gradient_clip=10.0,
        learning_rate_factor=cosine_decay(epochs),
        frozen=[network.layers.conv1, network.layers.conv2, network.layers.conv3],
    )


def cache(
    options: RunOptions, network: MDNet, kind: str, domains: Domains, frames: int, counts: BoxCounts
) -> list[Path]:
    """Completes the cached box features of all domains."""
    examples = MdnetExamples(domains, network.receptive_field, counts, frames, options.seed, AUGMENTATION)
    what = {"domains": len(domains), "spec": NETWORK["spec"], "seed": options.seed}
    return build_box_cache(options.cache_folder / kind, examples, network, what, options.workers)


def drawn_domains() -> tuple[Domains, Domains]:
    """Synthetic videos without a sprite bank, to check that everything runs."""
    domains = visible_videos(SyntheticVideos(SpriteBank(), 4, seed=77))
    return domains[:2], domains[2:]


def video_domains() -> Domains:
    """Videos with masks, except those held out for validation."""
    return visible_videos(MaskVideos(training_path("davis_path"), without=read_split("davis_held_out")))


def still_domains() -> Domains:
    """Objects in photographs, taken at even intervals from each source."""
    path = training_path("stills_path")
    voc = VocStills(path)
    birds = [CubStills(file.parent) for file in sorted(path.glob("**/bounding_boxes.txt"))]
    sources = [voc, VocStills(path, parts=True), coco_parts(path), *birds[:1], StillParts(voc)]
    domains: Domains = []
    for source in sources:
        count = min(STILLS[source.name], len(source))
        domains += [(source, int(number)) for number in np.linspace(0, len(source) - 1, count)]
    return domains


def make_network(options: RunOptions, domains: int) -> MDNet:
    """The network before training, with frozen ImageNet convolutions."""
    network = mdnet(**NETWORK, num_branches=domains)
    if not options.smoke:
        stored = torch.load(training_path("alexnet_weights"), map_location="cpu", weights_only=True)
        network.load_state_dict(alexnet_convolutions(stored), strict=False)
    for layer in (network.layers.conv1, network.layers.conv2, network.layers.conv3):
        layer.requires_grad_(False)
    return network
