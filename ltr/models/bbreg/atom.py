"""ATOM's offline part (Danelljan et al., 2019): a ResNet with an IoU-Net. The classifier is only learned online."""
from torch import Tensor, nn

from ltr.models.backbone import resnet18, resnet50
from ltr.models.bbreg.iou_net import IoUNet
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead


class ATOMNet(BackboneAndBoxHead):
    """Backbone and IoU-Net."""

    feature_stride = 16  # image pixels per cell of the classification features

    def __init__(self, feature_extractor: nn.Module, bb_regressor: IoUNet) -> None:
        super().__init__(feature_extractor=feature_extractor, bb_regressor=bb_regressor)

    def classification_features(self, backbone: dict[str, Tensor]) -> Tensor:
        """The projection's input (B, C, H, W): the coarse features, scaled to unit mean square per image."""
        coarse = backbone["layer3"]
        return coarse / (coarse.square().mean((1, 2, 3), keepdim=True) + 1e-10).sqrt()


def atom_resnet18(*, backbone_pretrained: bool = False, **options) -> ATOMNet:
    """ATOM on ResNet-18; options as for :class:`IoUNet`."""
    del backbone_pretrained  # recorded by the published trainer; nothing to build
    return ATOMNet(resnet18(), IoUNet((128, 256), **_renamed(options)))


def atom_resnet50(*, backbone_pretrained: bool = False, **options) -> ATOMNet:
    """ATOM on ResNet-50; options as for :class:`IoUNet`."""
    del backbone_pretrained
    return ATOMNet(resnet50(), IoUNet((512, 1024), **_renamed(options)))


def _renamed(options: dict) -> dict:
    names = {"iou_input_dim": "pred_input_dim", "iou_inter_dim": "pred_inter_dim"}  # the published trainer's names
    return {names.get(name, name): value for name, value in options.items()}
