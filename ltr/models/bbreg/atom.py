"""ATOM's offline part (Danelljan et al., 2019): a ResNet with an IoU-Net; its classifier is learned online only."""
from __future__ import annotations

from torch import Tensor, nn

from ltr.models.backbone import resnet18, resnet50
from ltr.models.bbreg.iou_net import IoUNet


class ATOMNet(nn.Module):
    """Backbone and IoU-Net."""

    def __init__(self, feature_extractor: nn.Module, bb_regressor: IoUNet) -> None:
        super().__init__()
        self.feature_extractor = feature_extractor
        self.bb_regressor = bb_regressor
        self.metadata: dict = {}

    def backbone_features(self, images: Tensor) -> dict[str, Tensor]:
        """Feature maps "layer2" and "layer3" of normalised images."""
        return self.feature_extractor(images, ("layer2", "layer3"))

    def drop_unused(self) -> None:
        """Frees backbone layers that no output needs."""
        self.feature_extractor.drop_unused(("layer2", "layer3"))


def atom_resnet18(*, backbone_pretrained: bool = False, **options) -> ATOMNet:
    """ATOM on ResNet-18; options as for :class:`IoUNet`."""
    del backbone_pretrained  # recorded by the published trainer; nothing to build
    return ATOMNet(resnet18(), IoUNet((128, 256), **_renamed(options)))


def atom_resnet50(*, backbone_pretrained: bool = False, **options) -> ATOMNet:
    """ATOM on ResNet-50; options as for :class:`IoUNet`."""
    del backbone_pretrained
    return ATOMNet(resnet50(), IoUNet((512, 1024), **_renamed(options)))


def _renamed(options: dict) -> dict:
    names = {"iou_input_dim": "pred_input_dim", "iou_inter_dim": "pred_inter_dim"}  # as the published trainer says them
    return {names.get(name, name): value for name, value in options.items()}
