"""ATOM's IoU-Net (Danelljan et al., 2019): predicts the overlap of a box with the target shown in a reference image.

The reference branch turns the features in the target's box into one factor per channel (the modulation). The test
branch pools every proposed box from two feature levels, multiplies by these factors and regresses the overlap.
"""
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ltr.ops import corners_from_xywh, pool_boxes

POOLED_FINE, POOLED_COARSE = 5, 3  # bins per side on the stride-8 and stride-16 level
FINE_SCALE, COARSE_SCALE = 1 / 8, 1 / 16


class Modulation(NamedTuple):
    """Channel factors (B, C) of a target on the stride-8 and stride-16 levels."""

    fine: Tensor
    coarse: Tensor


def _conv_norm_act(channels_in: int, channels: int, kernel: int = 3, padding: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(channels_in, channels, kernel, padding=padding)
    nn.init.kaiming_normal_(conv.weight)
    nn.init.zeros_(conv.bias)
    return nn.Sequential(conv, nn.BatchNorm2d(channels), nn.ReLU(inplace=True))


class LinearBlock(nn.Module):
    """Linear layer on flattened features, batch norm, ReLU."""

    def __init__(self, features_in: int, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features_in, features)
        self.bn = nn.BatchNorm1d(features)
        self.relu = nn.ReLU(inplace=True)
        nn.init.kaiming_normal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.bn(self.linear(x.flatten(1))))




class IoUNet(nn.Module):
    """IoU-Net on features of stride 8 ("layer2") and stride 16 ("layer3").

    Args:
        input_dim: backbone channels of the two levels.
        pred_input_dim: channels of the two test branches (and of the modulation).
        pred_inter_dim: features that each branch passes to the last layer.
        reference_dim: channels of the reference branch on the fine level.
    """

    def __init__(
        self,
        input_dim: tuple[int, int] = (128, 256),
        pred_input_dim: tuple[int, int] = (256, 256),
        pred_inter_dim: tuple[int, int] = (256, 256),
        reference_dim: int = 128,
    ) -> None:
        super().__init__()
        fine, coarse = pred_input_dim
        reference_coarse = 2 * reference_dim
        self.conv3_1r = _conv_norm_act(input_dim[0], reference_dim)
        self.conv3_1t = _conv_norm_act(input_dim[0], fine)
        self.conv3_2t = _conv_norm_act(fine, fine)
        self.fc3_1r = _conv_norm_act(reference_dim, reference_coarse, kernel=3, padding=0)
        self.conv4_1r = _conv_norm_act(input_dim[1], reference_coarse)
        self.conv4_1t = _conv_norm_act(input_dim[1], coarse)
        self.conv4_2t = _conv_norm_act(coarse, coarse)
        self.fc34_3r = _conv_norm_act(2 * reference_coarse, fine, kernel=1, padding=0)
        self.fc34_4r = _conv_norm_act(2 * reference_coarse, coarse, kernel=1, padding=0)
        self.fc3_rt = LinearBlock(fine * POOLED_FINE**2, pred_inter_dim[0])
        self.fc4_rt = LinearBlock(coarse * POOLED_COARSE**2, pred_inter_dim[1])
        self.iou_predictor = nn.Linear(sum(pred_inter_dim), 1)

    def modulation(self, features: dict[str, Tensor], boxes: Tensor) -> Modulation:
        """Channel factors of the targets in ``boxes`` (B, 4), xywh in pixels, one per image of ``features``."""
        corners = corners_from_xywh(boxes)[:, None]  # (B, 1, 4)
        fine = pool_boxes(self.conv3_1r(features["layer2"]), corners, 3, FINE_SCALE)[:, 0]
        coarse = pool_boxes(self.conv4_1r(features["layer3"]), corners, 1, COARSE_SCALE)[:, 0]
        both = torch.cat([self.fc3_1r(fine), coarse], 1)  # (B, 2C, 1, 1)
        return Modulation(self.fc34_3r(both).flatten(1), self.fc34_4r(both).flatten(1))

    def test_features(self, features: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Maps of the test branch on the fine and the coarse level."""
        return self.conv3_2t(self.conv3_1t(features["layer2"])), self.conv4_2t(self.conv4_1t(features["layer3"]))

    def predict(self, modulation: Modulation, test_features: tuple[Tensor, Tensor], proposals: Tensor) -> Tensor:
        """Overlaps (B, P) of ``proposals`` (B, P, 4), xywh in pixels of B images; differentiable in all arguments."""
        corners = corners_from_xywh(proposals)
        fine, coarse = test_features
        # Channel factors commute with pooling, so they are applied to the few pooled cells instead of the map.
        pooled_fine = pool_boxes(fine, corners, POOLED_FINE, FINE_SCALE) * modulation.fine[:, None, :, None, None]
        pooled_coarse = (
            pool_boxes(coarse, corners, POOLED_COARSE, COARSE_SCALE) * modulation.coarse[:, None, :, None, None]
        )
        hidden = torch.cat([self.fc3_rt(pooled_fine.flatten(0, 1)), self.fc4_rt(pooled_coarse.flatten(0, 1))], 1)
        return self.iou_predictor(hidden).view(proposals.shape[:2])

    def forward(
        self,
        reference_features: dict[str, Tensor],
        test_features: dict[str, Tensor],
        reference_boxes: Tensor,
        proposals: Tensor,
    ) -> Tensor:
        """For training: overlaps (S, M, P) of proposals (S, M, P, 4) in M test images of each of S sequences.

        Each sequence has one reference image with its box in ``reference_boxes`` (S, 4). ``test_features`` hold S * M
        images, ordered by sequence.
        """
        images = proposals.shape[1]
        modulation = self.modulation(reference_features, reference_boxes)
        repeated = Modulation(*(factors.repeat_interleave(images, 0) for factors in modulation))
        predicted = self.predict(repeated, self.test_features(test_features), proposals.flatten(0, 1))
        return predicted.view(proposals.shape[:3])
