"""Image networks that return feature maps of stride 8 ("layer2") and stride 16 ("layer3")."""
from ltr.models.backbone.mobilenet import MobileNetV2
from ltr.models.backbone.resnet import ResNet, resnet18, resnet50

__all__ = ["MobileNetV2", "ResNet", "resnet18", "resnet50"]
