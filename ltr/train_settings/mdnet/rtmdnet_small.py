"""RT-MDNet on AlexNet's frozen first convolutions: the small network that ships with the package.

Features of all boxes are computed once and cached; fc4 and fc5 learn what tells a target from its surroundings, across
many domains with a branch each. A domain is a video with masks, or an object in a photograph, seen in several colours
and degrees of sharpness. No frame of a tracking benchmark is used.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ltr.actors.mdnet import MdnetActor
from ltr.admin.environment import training_path
from ltr.data.augmentation import Augmentation
from ltr.data.box_feature_cache import BoxFeatureCache, build_box_cache
from ltr.data.mdnet_examples import BoxCounts, MdnetExamples
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
#: what trackers do differently on this network: fewer candidates, two thirds of a frame's time (docs/rtmdnet.md)
TRACKER = {"mined_negatives": 192, "search_samples": 192}
AUGMENTATION = Augmentation(brightness=0.25, contrast=0.25, colour=0.08, blur=0.2, motion=0.2, coarse=0.2)
Domains = list[tuple[VideoDataset, int]]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of everything."""

    video_frames: int = 24  # of each video in the cache
    still_frames: int = 3  # views of each photograph's object in the cache
    counts: BoxCounts = BoxCounts(frames=1, positive=16, negative=48)  # of each cached frame
    cycles: int = 1  # rounds through the domains per epoch; a video is visited eight times per round
    epochs: int = 4


SMOKE = Amounts(2, 2, counts=BoxCounts(frames=1, positive=4, negative=12), cycles=2, epochs=1)
#: photographs' objects by source: many different things, in proportion to what the sources hold
STILLS = {"voc": 60, "voc parts": 10, "coco": 14, "cub": 6, "parts of voc": 10}


def build(options: RunOptions) -> TrainingPlan:
    """Caches the features where they are not there yet, and plans the training."""
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
    """Features of boxes of every domain, computed where they are not there yet."""
    examples = MdnetExamples(domains, network.receptive_field, counts, frames, options.seed, AUGMENTATION)
    what = {"domains": len(domains), "spec": NETWORK["spec"], "seed": options.seed}
    return build_box_cache(options.cache_folder / kind, examples, network, what, options.workers)


def drawn_domains() -> tuple[Domains, Domains]:
    """Synthetic videos without a bank of sprites, to see that everything runs."""
    drawn = SyntheticVideos(SpriteBank(), 4, seed=77)
    domains = [(drawn, number) for number in range(len(drawn)) if drawn.track(number).visible.any()]
    return domains[:2], domains[2:]


def video_domains() -> Domains:
    """Videos with masks, without those that training is judged on."""
    videos = MaskVideos(training_path("davis_path"), without=read_split("davis_held_out"))
    return [(videos, number) for number in range(len(videos)) if videos.track(number).visible.any()]


def still_domains() -> Domains:
    """Objects in photographs, evenly spread over each source."""
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
    """The network before training, with ImageNet convolutions that stay as they are."""
    network = mdnet(**NETWORK, num_branches=domains)
    if not options.smoke:
        stored = torch.load(training_path("alexnet_weights"), map_location="cpu", weights_only=True)
        network.load_state_dict(alexnet_convolutions(stored), strict=False)
    for layer in (network.layers.conv1, network.layers.conv2, network.layers.conv3):
        layer.requires_grad_(False)
    return network
