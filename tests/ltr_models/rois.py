"""Precise RoI pooling of boxes that name their image, as the goldens and the reference integration have them."""
import torch

from ltr.ops import pool_boxes


def precise_roi_pool(features: torch.Tensor, rois: torch.Tensor, size: int | tuple[int, int], scale: float):
    """Bin means (N, C, rows, columns) of rows ``image index, x1, y1, x2, y2`` (N, 5)."""
    images = rois[:, 0].detach().long()
    places = [torch.nonzero(images == image).squeeze(1) for image in range(len(features))]
    parts = [pool_boxes(features[i][None], rois[rows][None, :, 1:], size, scale)[0] for i, rows in enumerate(places)]
    return torch.cat(parts)[torch.argsort(torch.cat(places))]
