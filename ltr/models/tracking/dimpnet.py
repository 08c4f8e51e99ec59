"""DiMP networks (Bhat et al., 2019) and their relatives: backbone, target classifier and IoU-Net.

:func:`dimpnet18`, :func:`dimpnet50` (DiMP, SuperDiMP), :func:`klcedimpnet18`, :func:`klcedimpnet50` (PrDiMP) and
:func:`dimpnet50_simple` (SuperDiMP-simple) have the names and shapes of the published checkpoints and take the
arguments recorded in them; they differ in the classifier's optimiser. :func:`dimpnet_mobile` is a small DiMP on
MobileNetV2 with adjustable widths.
"""
from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from ltr.models.backbone import MobileNetV2, resnet18, resnet50
from ltr.models.bbreg import IoUNet
from ltr.models.target_classifier import (
    DensityOptimizer,
    FilterInitializer,
    FilterObjective,
    FilterOptimizer,
    HingeOptimizer,
    LinearFilterClassifier,
    SteepestDescentOptimizer,
    classification_features,
)
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead, FrozenBackbone

OPTIMIZER_OPTIONS = {  # the published trainer's names: our optimisers' names
    "optim_iter": "num_iter",
    "feat_stride": "feature_stride",
    "optim_init_step": "init_step_length",
    "optim_init_reg": "init_filter_reg",
    "optim_min_reg": "min_filter_reg",
    "init_uni_weight": "uni_weight",
    "target_mask_act": "mask_act",
}
TRAINING_OPTIONS = {  # recorded by the published trainer; irrelevant for building the network
    "act_param",
    "backbone_pretrained",
    "frozen_backbone_layers",
    "score_act",
    "train_feature_extractor",
}
CLASSIFICATION = "classification"  # name of the classification features among an engine's outputs
PLAIN_FROM_CHANNELS = 1024  # on CPUs, 3x3 convolutions with this many channels are a sixth faster in the plain layout


class FrozenFeatures(FrozenBackbone):
    """The backbone and the classifier's convolution of a network prepared for inference."""

    def __init__(self, network: DiMPNet) -> None:
        super().__init__(network)
        self.features = network.classifier.feature_extractor
        self.classification_layer = network.classification_layer
        self.outputs[CLASSIFICATION] = network.classifier.filter_initializer.filter_conv.in_channels

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """The backbone's maps, followed by the classification features, of normalised images (B, 3, H, W)."""
        maps = super().forward(images)
        return (*maps, self.features(maps[self.layers.index(self.classification_layer)]))


class DiMPNet(BackboneAndBoxHead):
    """Backbone with maps "layer2" (stride 8) and "layer3" (stride 16), a classifier on one of them and an IoU-Net."""

    def __init__(
        self,
        feature_extractor: nn.Module,
        classifier: LinearFilterClassifier,
        bb_regressor: IoUNet,
        classification_layer: str = "layer3",
    ) -> None:
        super().__init__(feature_extractor=feature_extractor, classifier=classifier, bb_regressor=bb_regressor)
        self.classification_layer = classification_layer
        self.output_layers = tuple(dict.fromkeys(["layer2", "layer3", classification_layer]))
        self.plain_classifier = False  # whether the classifier's convolutions use the plain layout, see prefer_layouts

    @property
    def filter_size(self) -> int:
        """Side of the classifier's filter in feature cells."""
        return self.classifier.filter_size

    @property
    def feature_stride(self) -> int:
        """Image pixels per cell of the classification features."""
        return self.classifier.filter_optimizer.feature_stride

    @property
    def extra_logit(self) -> float | None:
        """Logit of the outcome "nowhere", if scores are logits of a density that has one."""
        optimizer = self.classifier.filter_optimizer
        return optimizer.softmax_reg if isinstance(optimizer, DensityOptimizer) else None

    def classification_features(self, backbone: dict[str, Tensor]) -> Tensor:
        """The features (B, C, H, W) that the filter acts on."""
        if CLASSIFICATION in backbone:
            return backbone[CLASSIFICATION]
        coarse = backbone[self.classification_layer]
        if self.plain_classifier and coarse.device.type == "cpu":
            coarse = coarse.contiguous()
        return self.classifier.extract_features(coarse)

    def objective(self, features: Tensor, boxes: Tensor, sample_weight: Tensor | None = None) -> FilterObjective:
        """The online learning problem, for any learner; see :meth:`FilterOptimizer.objective`."""
        return self.classifier.filter_optimizer.objective(features, boxes, self.filter_size, sample_weight)

    def forward(
        self,
        train_images: Tensor,
        test_images: Tensor,
        train_boxes: Tensor,
        proposals: Tensor | None = None,
        num_iter: int | None = None,
    ) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """For meta-training on S sequences with N training and M test images each (S, N or M, 3, H, W), normalised.

        Training boxes are xywh in pixels (S, N, 4); without proposals (S, M, P, 4), the IoU-Net is skipped.

        Returns:
            Test scores (S, M, H', W') and values (S,) of the online objective for the initial filter and the filter
            after each step; predicted overlaps (S, M, P) with each sequence's first training image as reference.
        """
        sequences, train_count = train_images.shape[:2]
        images = torch.cat([train_images.flatten(0, 1), test_images.flatten(0, 1)])
        maps = self.backbone_features(images)
        split = sequences * train_count
        coarse = maps[self.classification_layer]
        scores, losses = self.classifier(
            coarse[:split].unflatten(0, (sequences, train_count)),
            coarse[split:].unflatten(0, (sequences, -1)),
            train_boxes,
            num_iter,
        )
        if proposals is None:
            return scores, losses, None
        reference = {name: fmap[:split:train_count] for name, fmap in maps.items()}
        test = {name: fmap[split:] for name, fmap in maps.items()}
        return scores, losses, self.bb_regressor(reference, test, train_boxes[:, 0], proposals)

    def prefer_layouts(self) -> None:
        """Restores the plain layout of wide classifier convolutions (ResNet-50), which is faster on CPUs."""
        first = self.classifier.feature_extractor[0]
        self.plain_classifier = isinstance(first, nn.Conv2d) and first.in_channels >= PLAIN_FROM_CHANNELS
        if self.plain_classifier:
            self.classifier.feature_extractor.to(memory_format=torch.contiguous_format)

    def frozen_part(self) -> FrozenFeatures:
        return FrozenFeatures(self)


def _assemble(
    backbone: nn.Module,
    optimizer: FilterOptimizer,
    *,
    filter_size: int = 1,
    classification_layer: str = "layer3",
    clf_feat_blocks: int = 1,
    clf_feat_norm: bool = True,
    init_filter_norm: bool = False,
    final_conv: bool = True,
    out_feature_dim: int = 256,
    iou_input_dim: tuple[int, int] = (256, 256),
    iou_inter_dim: tuple[int, int] = (256, 256),
    iou_reference_dim: int = 128,
    init_initializer: str = "default",
    **training: Any,
) -> DiMPNet:
    unknown = training.keys() - TRAINING_OPTIONS
    if unknown:
        raise TypeError(f"options {sorted(unknown)} are not known")
    channels = backbone.channels[classification_layer]
    features = classification_features(
        channels, out_feature_dim, filter_size, clf_feat_blocks, final_conv, clf_feat_norm
    )
    initializer = FilterInitializer(out_feature_dim, filter_size, optimizer.feature_stride, init_filter_norm)
    if init_initializer == "zero":
        nn.init.zeros_(initializer.filter_conv.weight)
    classifier = LinearFilterClassifier(filter_size, initializer, optimizer, features)
    iou_net = IoUNet(
        (backbone.channels["layer2"], backbone.channels["layer3"]), iou_input_dim, iou_inter_dim, iou_reference_dim
    )
    return DiMPNet(backbone, classifier, iou_net, classification_layer)


def _build(backbone: nn.Module, optimizer: type[FilterOptimizer], **options: Any) -> DiMPNet:
    """Builds a network from options under their published names; the optimiser receives its own options."""
    named = {OPTIMIZER_OPTIONS.get(name, name): name for name in options}
    own = {ours: options.pop(named[ours]) for ours in inspect.signature(optimizer).parameters if ours in named}
    return _assemble(backbone, optimizer(**own), **options)


def dimpnet18(**options) -> DiMPNet:
    """DiMP on ResNet-18, as published; ``options`` as recorded in checkpoints (filter_size, out_feature_dim, …)."""
    return _build(resnet18(), SteepestDescentOptimizer, **options)


def dimpnet50(*, backbone: dict | None = None, **options) -> DiMPNet:
    """DiMP on ResNet-50, as published; ``backbone`` holds options of :class:`ResNet`, others are as in checkpoints."""
    defaults = {"clf_feat_blocks": 1, "out_feature_dim": 512}
    return _build(resnet50(**(backbone or {})), SteepestDescentOptimizer, **defaults | options)


def klcedimpnet18(**options) -> DiMPNet:
    """PrDiMP on ResNet-18, as published; arguments as for :func:`dimpnet50`."""
    return _build(resnet18(), DensityOptimizer, **options)


def klcedimpnet50(**options) -> DiMPNet:
    """PrDiMP on ResNet-50, as published; arguments as for :func:`dimpnet50`."""
    return _build(resnet50(), DensityOptimizer, **{"clf_feat_blocks": 0, "out_feature_dim": 512} | options)


def dimpnet50_simple(**options) -> DiMPNet:
    """SuperDiMP-simple on ResNet-50, as published; arguments as for :func:`dimpnet50`."""
    return _build(resnet50(), HingeOptimizer, **{"out_feature_dim": 512} | options)


def dimpnet_mobile(*, taps: dict[str, str] | None = None, width: float = 1.0, **options) -> DiMPNet:
    """DiMP on MobileNetV2, small enough to be bundled and fast on a CPU.

    ``taps`` and ``width`` are passed to :class:`MobileNetV2`; other options are as for :func:`dimpnet50`.
    """
    defaults = {
        "filter_size": 4,
        "optim_init_step": 0.9,
        "optim_init_reg": 0.1,
        "clf_feat_blocks": 0,
        "out_feature_dim": 128,
        "init_gauss_sigma": 0.9,
        "num_dist_bins": 100,
        "bin_displacement": 0.1,
        "mask_init_factor": 3.0,
        "iou_input_dim": (96, 128),
        "iou_inter_dim": (128, 128),
        "iou_reference_dim": 64,
    }
    return _build(MobileNetV2(taps, width), SteepestDescentOptimizer, **defaults | options)
