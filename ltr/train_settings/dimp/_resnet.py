"""The published training recipe (Bhat et al., 2019), shared by all settings of DiMP on ResNets."""
from collections.abc import Callable
from typing import Any

from ltr.actors.dimp import DimpActor
from ltr.admin.environment import training_path
from ltr.admin.initial_weights import load_backbone_weights
from ltr.data.crops import CropGeometry
from ltr.data.processing import DimpExamples, DimpProcessing
from ltr.data.sampler import ExampleSampler
from ltr.dataset.base import VideoDataset
from ltr.dataset.coco import CocoStills
from ltr.dataset.got10k import Got10k
from ltr.dataset.lasot import Lasot
from ltr.dataset.sprites import SpriteBank
from ltr.dataset.synthetic import SyntheticVideos
from ltr.dataset.trackingnet import TrackingNet
from ltr.models.tracking.dimpnet import DiMPNet
from ltr.trainers.plan import RunOptions, TrainingPlan, step_decay

GEOMETRY = CropGeometry(output_side=288, search_area=5.0)
SMOKE_GEOMETRY = CropGeometry(output_side=96, search_area=5.0)
CLASSIFIER = {  # arguments recorded in the published checkpoints
    "filter_size": 4,
    "optim_iter": 5,
    "optim_init_step": 0.9,
    "optim_init_reg": 0.1,
    "init_gauss_sigma": 0.9,
    "num_dist_bins": 100,
    "bin_displacement": 0.1,
    "mask_init_factor": 3.0,
    "target_mask_act": "sigmoid",
    "score_act": "relu",
}

Sources = Callable[[], tuple[list[VideoDataset], list[float]]]


def all_sources() -> tuple[list[VideoDataset], list[float]]:
    """LaSOT, GOT-10k, TrackingNet and COCO, in the published proportions."""
    datasets = [
        Lasot(training_path("lasot_path")),
        Got10k(training_path("got10k_path")),
        TrackingNet(training_path("trackingnet_path")),
        CocoStills(training_path("coco_path")),
    ]
    return datasets, [0.25, 1.0, 1.0, 1.0]


def got10k_only() -> tuple[list[VideoDataset], list[float]]:
    """Only GOT-10k's training split, as its protocol demands."""
    return [Got10k(training_path("got10k_path"))], [1.0]


def plan(
    options: RunOptions, network: DiMPNet, constructor: dict[str, Any], backbone_key: str, sources: Sources
) -> TrainingPlan:
    """The published recipe: Adam, 50 epochs of 26 000 examples of 3 + 3 frames, rates divided by 5 every 15 epochs."""
    if options.smoke:
        datasets, proportions = [SyntheticVideos(SpriteBank(), 4, video_frames=12)], [1.0]
    else:
        load_backbone_weights(network.feature_extractor, training_path(backbone_key))
        datasets, proportions = sources()
    geometry = SMOKE_GEOMETRY if options.smoke else GEOMETRY
    processing = DimpProcessing(geometry=geometry)
    examples_per_epoch, batch_size, epochs = (2, 2, 1) if options.smoke else (26_000, 10, 50)
    sampler = ExampleSampler(datasets, proportions, max_gap=30)
    frozen = [network.feature_extractor.conv1, network.feature_extractor.bn1, network.feature_extractor.layer1]
    for module in frozen:
        module.requires_grad_(False)
    return TrainingPlan(
        actor=DimpActor(network, label_sigma=geometry.output_side / 16 / geometry.search_area / 4),
        examples=DimpExamples(sampler, processing, examples_per_epoch, seed=options.seed),
        parameter_groups=parameter_groups(network),
        constructor=constructor,
        metadata={},
        epochs=options.epochs or epochs,
        batch_size=batch_size,
        learning_rate_factor=step_decay(every=15, factor=0.2),
        frozen=frozen,
    )


def parameter_groups(network: DiMPNet) -> list[dict[str, Any]]:
    """The published learning rates."""
    classifier, backbone = network.classifier, network.feature_extractor
    return [
        {"params": list(classifier.filter_initializer.parameters()), "lr": 5e-5},
        {"params": list(classifier.filter_optimizer.parameters()), "lr": 5e-4},
        {"params": list(classifier.feature_extractor.parameters()), "lr": 5e-5},
        {"params": list(network.bb_regressor.parameters()), "lr": 1e-3},
        {"params": list(backbone.layer2.parameters()) + list(backbone.layer3.parameters()), "lr": 2e-5},
    ]
