"""RT-MDNet on AlexNet's frozen first convolutions: the small network that ships with the package.

Features of all boxes are computed once and cached; fc4 and fc5 learn what tells a target from its surroundings, across
many domains (videos) with a branch each. Sources: synthetic videos and videos with masks.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch

from ltr.actors.mdnet import MdnetActor
from ltr.admin.environment import training_path
from ltr.data.box_feature_cache import BoxFeatureCache, build_box_cache
from ltr.data.mdnet_examples import BoxCounts, MdnetExamples
from ltr.dataset.base import VideoDataset
from ltr.dataset.folder import read_split
from ltr.dataset.masks import MaskVideos
from ltr.dataset.sprites import SpriteBank
from ltr.dataset.synthetic import SyntheticVideos
from ltr.models.tracking.mdnet import MDNet, alexnet_convolutions, mdnet
from ltr.trainers.plan import RunOptions, TrainingPlan, cosine_decay

NETWORK = {"spec": "alexnet"}


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of everything."""

    synthetic_domains: int = 60
    real_domains: bool = True
    frames: int = 24  # frames of each domain in the cache
    counts: BoxCounts = BoxCounts(frames=1, positive=16, negative=48)  # of each cached frame
    cycles: int = 20  # visits of each domain an epoch
    epochs: int = 5


SMOKE = Amounts(2, False, frames=2, counts=BoxCounts(frames=1, positive=4, negative=12), cycles=2, epochs=1)


def build(options: RunOptions) -> TrainingPlan:
    """Caches the features where they are not there yet, and plans the training."""
    amounts = SMOKE if options.smoke else Amounts()
    videos = make_videos(options.smoke, amounts)
    network = make_network(options, len(videos))
    cache = build_box_cache(
        options.cache_folder / "boxes",
        MdnetExamples(videos, network.receptive_field, amounts.counts, cycles=amounts.frames, seed=options.seed),
        network,
        what={"domains": len(videos), "spec": NETWORK["spec"], "seed": options.seed},
        workers=options.workers,
    )
    epochs = options.epochs or amounts.epochs
    examples = BoxFeatureCache(cache, frames=8, positive=32, negative=192, cycles=amounts.cycles, seed=options.seed)
    return TrainingPlan(
        actor=MdnetActor(network, hard_negatives=96),
        examples=examples,
        parameter_groups=[
            {"params": list(network.layers.fc4.parameters()) + list(network.layers.fc5.parameters()), "lr": 1e-3},
            {"params": list(network.branches.parameters()), "lr": 1e-2},
        ],
        constructor={"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": NETWORK},
        metadata={"tracker": {}},
        epochs=epochs,
        batch_size=1,
        accumulate=1,
        optimizer="sgd",
        weight_decay=5e-4,
        gradient_clip=10.0,
        learning_rate_factor=cosine_decay(epochs),
        frozen=[network.layers.conv1, network.layers.conv2, network.layers.conv3],
    )


def make_videos(smoke: bool, amounts: Amounts) -> list[tuple[VideoDataset, int]]:
    """The domains."""
    bank = SpriteBank(None if smoke else training_path("sprites_path"))
    synthetic = SyntheticVideos(bank, amounts.synthetic_domains, seed=77)
    videos: list[tuple[VideoDataset, int]] = [(synthetic, number) for number in range(len(synthetic))]
    if amounts.real_domains:
        real = MaskVideos(training_path("davis_path"), without=read_split("davis_held_out"))
        videos += [(real, number) for number in range(len(real))]
    return [(dataset, number) for dataset, number in videos if dataset.track(number).visible.any()]


def make_network(options: RunOptions, domains: int) -> MDNet:
    """The network before training, with ImageNet convolutions that stay as they are."""
    network = mdnet(**NETWORK, num_branches=domains)
    if not options.smoke:
        stored = torch.load(training_path("alexnet_weights"), map_location="cpu", weights_only=True)
        network.load_state_dict(alexnet_convolutions(stored), strict=False)
    for layer in (network.layers.conv1, network.layers.conv2, network.layers.conv3):
        layer.requires_grad_(False)
    return network
