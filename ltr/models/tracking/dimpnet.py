"""DiMP networks (Bhat et al., 2019): backbone, target classifier and IoU-Net.

:func:`dimpnet18` and :func:`dimpnet50` have the names and shapes of the published checkpoints and take the arguments
recorded in them. :func:`dimpnet_mobile` is the same thing on MobileNetV2 with adjustable widths, for a small network.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ltr.models.backbone import MobileNetV2, resnet18, resnet50
from ltr.models.bbreg import IoUNet, TargetIoU
from ltr.models.target_classifier import (
    FilterInitializer,
    LinearFilterClassifier,
    SteepestDescentOptimizer,
    TargetObjective,
    classification_features,
)

IMAGE_MEAN = (0.485, 0.456, 0.406)  # of RGB in 0..1, ImageNet
IMAGE_STD = (0.229, 0.224, 0.225)
CLASSIFICATION = "classification"  # name of the classification features among an engine's outputs
PLAIN_FROM_CHANNELS = 1024  # 3x3 convolutions of so many take a sixth less time in the plain layout on CPUs


class FrozenFeatures(nn.Module):
    """What every image goes through: the backbone and the classifier's convolution, for another engine than torch.

    Args:
        network: frozen by :func:`ltr.models.inference.prepare_for_inference`.
    """

    def __init__(self, network: DiMPNet) -> None:
        super().__init__()
        self.backbone = network.feature_extractor
        self.features = network.classifier.feature_extractor
        self.layers, self.classification_layer = network.output_layers, network.classification_layer
        self.outputs = {name: self.backbone.channels[name] for name in self.layers}  # channels by name
        self.outputs[CLASSIFICATION] = network.classifier.filter_initializer.filter_conv.in_channels

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """The backbone's maps and, last, the classification features of normalised images (B, 3, H, W)."""
        maps = self.backbone(images, self.layers)
        return (*(maps[name] for name in self.layers), self.features(maps[self.classification_layer]))


class DiMPNet(nn.Module):
    """Backbone, classifier and box regressor.

    Args:
        feature_extractor: returns feature maps "layer2" (stride 8) and "layer3" (stride 16).
        classifier: target classifier on ``classification_layer``.
        bb_regressor: IoU-Net on both layers.
        classification_layer: name of the classifier's backbone layer.
    """

    def __init__(
        self,
        feature_extractor: nn.Module,
        classifier: LinearFilterClassifier,
        bb_regressor: IoUNet,
        classification_layer: str = "layer3",
    ) -> None:
        super().__init__()
        self.feature_extractor = feature_extractor
        self.classifier = classifier
        self.bb_regressor = bb_regressor
        self.classification_layer = classification_layer
        self.output_layers = tuple(dict.fromkeys(["layer2", "layer3", classification_layer]))
        self.metadata: dict = {}
        self.channels_last = True  # layout of the images, and so of all features; the values differ by rounding alone
        self.engine: Any = None  # computes what is frozen instead of torch, see ltr.engine
        self.plain_classifier = False  # whether the classifier's convolutions are kept out of it, see prefer_layouts

    @property
    def filter_size(self) -> int:
        """Side of the classifier's filter in feature cells."""
        return self.classifier.filter_size

    @property
    def feature_stride(self) -> int:
        """Image pixels for each cell of the classification features."""
        return self.classifier.filter_optimizer.feature_stride

    @staticmethod
    def normalise(images: Tensor) -> Tensor:
        """RGB 0..255 (B, 3, H, W) to what the backbone expects."""
        # In this order, so that single precision rounds as in the published trackers: steepest descent amplifies it.
        return (images / 255).sub_(images.new_tensor(IMAGE_MEAN).view(1, 3, 1, 1)).div_(
            images.new_tensor(IMAGE_STD).view(1, 3, 1, 1)
        )

    def backbone_features(self, images: Tensor, layers: Sequence[str] | None = None) -> dict[str, Tensor]:
        """Feature maps by name of normalised images (B, 3, H, W); an engine adds the classification features."""
        if self.engine is not None and layers is None:
            return self.engine(images)
        if images.device.type != "mps":
            images = images.contiguous(
                memory_format=torch.channels_last if self.channels_last else torch.contiguous_format
            )
        return self.feature_extractor(images, layers or self.output_layers)

    def classification_features(self, backbone: dict[str, Tensor]) -> Tensor:
        """What the filter acts on (B, C, H, W)."""
        if CLASSIFICATION in backbone:
            return backbone[CLASSIFICATION]
        coarse = backbone[self.classification_layer]
        if self.plain_classifier and coarse.device.type == "cpu":
            coarse = coarse.contiguous()
        return self.classifier.extract_features(coarse)

    def objective(self, features: Tensor, boxes: Tensor, sample_weight: Tensor | None = None) -> TargetObjective:
        """The online learning problem, for any learner; see :meth:`SteepestDescentOptimizer.objective`."""
        return self.classifier.filter_optimizer.objective(features, boxes, self.filter_size, sample_weight)

    @torch.no_grad()
    def target_iou(self, backbone: dict[str, Tensor], box: Tensor) -> TargetIoU:
        """Overlap predictor of the target in ``box`` (xywh in pixels of the crop), shown in one image."""
        box = box.reshape(1, 4).to(backbone["layer2"])
        compute_maps = None if self.engine is None else self.engine.box_maps
        return TargetIoU(self.bb_regressor, self.bb_regressor.modulation(backbone, box), compute_maps)

    def forward(
        self,
        train_images: Tensor,
        test_images: Tensor,
        train_boxes: Tensor,
        proposals: Tensor | None = None,
        num_iter: int | None = None,
    ) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """Meta-training on S sequences: N training images, M test images each, normalised.

        Args:
            train_images: (S, N, 3, H, W).
            test_images: (S, M, 3, H, W).
            train_boxes: xywh in pixels (S, N, 4).
            proposals: boxes whose overlap is to be predicted (S, M, P, 4), or None to leave the IoU-Net out.
            num_iter: steepest descent steps; the network's own number where it is None.

        Returns:
            Test scores (S, M, H', W') with the initial filter and after every step; values of the online objective (S,)
            at these filters; predicted overlaps (S, M, P), with the first training image of a sequence as reference.
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
        """Where everything is channels-last: the classifier's convolution of a ResNet-50 is faster without, on CPUs."""
        first = self.classifier.feature_extractor[0]
        self.plain_classifier = isinstance(first, nn.Conv2d) and first.in_channels >= PLAIN_FROM_CHANNELS
        if self.plain_classifier:
            self.classifier.feature_extractor.to(memory_format=torch.contiguous_format)

    def frozen_part(self) -> FrozenFeatures:
        """What an engine may compute instead of torch."""
        return FrozenFeatures(self)

    def drop_unused(self) -> None:
        """Frees backbone layers that no output needs; see :meth:`ResNet.drop_unused`."""
        self.feature_extractor.drop_unused(self.output_layers)


def _dimpnet(
    backbone: nn.Module,
    *,
    filter_size: int = 1,
    optim_iter: int = 5,
    optim_init_step: float = 1.0,
    optim_init_reg: float = 0.01,
    classification_layer: str = "layer3",
    feat_stride: int = 16,
    clf_feat_blocks: int = 1,
    clf_feat_norm: bool = True,
    init_filter_norm: bool = False,
    final_conv: bool = True,
    out_feature_dim: int = 256,
    init_gauss_sigma: float = 1.0,
    num_dist_bins: int = 5,
    bin_displacement: float = 1.0,
    mask_init_factor: float = 4.0,
    iou_input_dim: tuple[int, int] = (256, 256),
    iou_inter_dim: tuple[int, int] = (256, 256),
    iou_reference_dim: int = 128,
    score_act: str = "relu",
    act_param: float | None = None,
    target_mask_act: str = "sigmoid",
    detach_length: float = math.inf,
    backbone_pretrained: bool = False,
    frozen_backbone_layers: tuple[str, ...] | str = (),
) -> DiMPNet:
    del act_param, backbone_pretrained, frozen_backbone_layers  # recorded by the published trainer; nothing to build
    channels = backbone.channels[classification_layer]
    features = classification_features(
        channels, out_feature_dim, filter_size, clf_feat_blocks, final_conv, clf_feat_norm
    )
    optimizer = SteepestDescentOptimizer(
        num_iter=optim_iter,
        feature_stride=feat_stride,
        init_step_length=optim_init_step,
        init_filter_reg=optim_init_reg,
        init_gauss_sigma=init_gauss_sigma,
        num_dist_bins=num_dist_bins,
        bin_displacement=bin_displacement,
        mask_init_factor=mask_init_factor,
        score_act=score_act,
        mask_act=target_mask_act,
        detach_length=detach_length,
    )
    initializer = FilterInitializer(out_feature_dim, filter_size, feat_stride, init_filter_norm)
    classifier = LinearFilterClassifier(filter_size, initializer, optimizer, features)
    iou_net = IoUNet(
        (backbone.channels["layer2"], backbone.channels["layer3"]), iou_input_dim, iou_inter_dim, iou_reference_dim
    )
    return DiMPNet(backbone, classifier, iou_net, classification_layer)


def dimpnet18(**options) -> DiMPNet:
    """DiMP on ResNet-18, as published.

    Args:
        **options: arguments as recorded in the published checkpoints (filter_size, out_feature_dim, …).
    """
    return _dimpnet(resnet18(), **options)


def dimpnet50(*, backbone: dict | None = None, **options) -> DiMPNet:
    """DiMP on ResNet-50, as published.

    Args:
        backbone: options of :class:`ResNet`, e.g. ``{"last_stage": 3, "num_classes": None, "stride_on_first": True}``.
        **options: arguments as recorded in the published checkpoints.
    """
    return _dimpnet(resnet50(**(backbone or {})), **{"clf_feat_blocks": 1, "out_feature_dim": 512} | options)


def dimpnet_mobile(*, taps: dict[str, str] | None = None, width: float = 1.0, **options) -> DiMPNet:
    """DiMP on MobileNetV2, small enough to be bundled and fast on a CPU.

    Args:
        taps: where the backbone's two outputs are taken; see :class:`MobileNetV2`.
        width: factor on the backbone's channels.
        **options: as for :func:`dimpnet50`; the defaults here are those of a small network.
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
    return _dimpnet(MobileNetV2(taps, width), **defaults | options)
