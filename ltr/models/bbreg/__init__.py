"""Box refinement: ATOM's IoU-Net, and the same network folded for one target."""
from ltr.models.bbreg.box_head import Ascent, BoxHead, LocalCrop
from ltr.models.bbreg.iou_net import IoUNet, Modulation
from ltr.models.bbreg.target_iou import LocalIoU, TargetIoU

__all__ = ["Ascent", "BoxHead", "IoUNet", "LocalCrop", "LocalIoU", "Modulation", "TargetIoU"]
