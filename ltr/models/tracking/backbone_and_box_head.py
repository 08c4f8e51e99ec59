"""Base class of the tracking networks: a backbone and an IoU-Net."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ltr.models.bbreg.target_iou import TargetIoU
from ltr.models.imagenet import normalised, normalised_planes


class FrozenBackbone(nn.Module):
    """The part of a network prepared for inference that runs on every image, for engines other than torch."""

    def __init__(self, network: BackboneAndBoxHead) -> None:
        super().__init__()
        self.backbone = network.feature_extractor
        self.layers = network.output_layers
        self.outputs = {name: self.backbone.channels[name] for name in self.layers}  # name -> channels

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """The backbone's maps of normalised images (B, 3, H, W)."""
        maps = self.backbone(images, self.layers)
        return tuple(maps[name] for name in self.layers)


class BackboneAndBoxHead(nn.Module):
    """Backbone with outputs "layer2" (stride 8) and "layer3" (stride 16), and an IoU-Net on both.

    Args:
        **parts: modules by name, in the order of the state dict, including ``feature_extractor`` and ``bb_regressor``.
    """

    output_layers: tuple[str, ...] = ("layer2", "layer3")

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.metadata: dict = {}
        self.engine: Any = None  # computes the frozen part instead of torch, see ltr.engine
        self.channels_last = True  # layout of images and thus of all features; results differ only by rounding

    def normalise(self, images: Tensor) -> Tensor:
        """Normalises RGB 0..255 (B, 3, H, W) for the backbone, in the engine's layout if one is attached."""
        return normalised(images) if self.engine is None else normalised_planes(images)

    def backbone_features(self, images: Tensor, layers: Sequence[str] | None = None) -> dict[str, Tensor]:
        """Feature maps by name of normalised images (B, 3, H, W); an engine returns all outputs of the frozen part."""
        if self.engine is not None and layers is None:
            return self.engine(images)
        images = images.to(self.bb_regressor.iou_predictor.weight.dtype)
        if images.device.type != "mps":
            images = images.contiguous(
                memory_format=torch.channels_last if self.channels_last else torch.contiguous_format
            )
        return self.feature_extractor(images, layers or self.output_layers)

    @torch.no_grad()
    def target_iou(self, backbone: dict[str, Tensor], box: Tensor) -> TargetIoU:
        """Overlap predictor for the target in ``box`` (xywh in crop pixels), given the features of one image."""
        box = box.reshape(1, 4).to(backbone["layer2"])
        head = None if self.engine is None else self.engine.box_head
        return TargetIoU(self.bb_regressor, self.bb_regressor.modulation(backbone, box), head)

    def frozen_part(self) -> FrozenBackbone:
        """The part that an engine may compute instead of torch."""
        return FrozenBackbone(self)

    def drop_unused(self) -> None:
        """Removes backbone layers that no output needs; see :meth:`ResNet.drop_unused`."""
        self.feature_extractor.drop_unused(self.output_layers)
