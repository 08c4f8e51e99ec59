"""DiMP's meta-training step: learn a filter on the train frames of each example, evaluate it on the test frames."""
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ltr.losses.box_density import density_loss, draw_boxes
from ltr.losses.classification import gaussian_labels, hinged_square_loss
from ltr.losses.overlap import overlap_loss, sample_proposals
from ltr.models.imagenet import normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class DimpLossWeights:
    """Weights of the loss terms; the defaults are those of the published DiMP. A term with weight 0 is skipped."""

    overlap: float = 1.0  # IoU-Net
    final: float = 100.0  # classification with the last filter
    initial: float = 100.0  # classification with the initialiser's filter
    iterates: float = 400.0  # mean over the filters in between


class DimpActor(nn.Module):
    """Computes the loss of a batch and statistics for the log.

    A batch holds `boxes` (B, frames, 4) and either `images` (B, frames, 3, H, W) uint8 or, if the output of a frozen
    backbone or of its lower part is cached, `features`: layer name -> (B, frames, C, h, w). Train frames come first.

    Args:
        label_sigma: standard deviation of the classification label in cells.
        proposals: boxes per frame that the IoU-Net is trained on.
        overlap_window: side in pixels (a multiple of 16) of the window around the target that the IoU-Net is trained
            on, since its convolutions only need the neighbourhood of the boxes; None for the whole crop.
        box_loss: "overlap" trains the IoU-Net to predict overlaps, "density" to predict the energy of a box density.
    """

    def __init__(
        self,
        network: nn.Module,
        *,
        train_frames: int = 3,
        label_sigma: float = 0.9,
        iterations: int = 5,
        proposals: int = 8,
        overlap_window: int | None = None,
        weights: DimpLossWeights | None = None,
        box_loss: Literal["overlap", "density"] = "overlap",
    ) -> None:
        super().__init__()
        self.network = network
        self.train_frames, self.label_sigma = train_frames, label_sigma
        self.iterations, self.proposals, self.overlap_window = iterations, proposals, overlap_window
        self.weights = weights or DimpLossWeights()
        self.box_loss = box_loss

    def forward(self, batch: dict) -> tuple[Tensor, dict[str, Tensor]]:
        boxes = batch["boxes"]  # (B, frames, 4)
        features = self._features(batch)  # layer -> (B, frames, C, h, w)
        loss, stats = boxes.new_zeros(()), {}
        if self.weights.final > 0:
            scores, classification = self._classification(features["layer3"], boxes)
            loss = loss + classification
            stats |= {"classification": classification, **self._hit_rates(scores, boxes)}
        if self.weights.overlap > 0:
            overlap = self._overlap(features, boxes)
            loss = loss + self.weights.overlap * overlap
            stats["overlap"] = overlap
        return loss, {name: value.detach() for name, value in {"loss": loss, **stats}.items()}

    def _features(self, batch: dict) -> dict[str, Tensor]:
        if "features" in batch:
            cached = {name: value.float() for name, value in batch["features"].items()}
            if "layer3" not in cached:
                lower = cached["layer2"]
                flat = lower.flatten(0, 1).contiguous(memory_format=torch.channels_last)  # twice as fast on a CPU
                upper = self.network.feature_extractor.upper_blocks()(flat)
                cached["layer3"] = upper.unflatten(0, lower.shape[:2])
            return cached
        images = batch["images"]
        flat = self.network.feature_extractor(normalised(images.flatten(0, 1)), ["layer2", "layer3"])
        return {name: value.unflatten(0, images.shape[:2]) for name, value in flat.items()}

    def _classification(self, features: Tensor, boxes: Tensor) -> tuple[list[Tensor], Tensor]:
        n = self.train_frames
        scores, _ = self.network.classifier(features[:, :n], features[:, n:], boxes[:, :n], num_iter=self.iterations)
        stride = self.network.classifier.filter_optimizer.feature_stride
        labels = gaussian_labels(boxes[:, n:], scores[0].shape[-1], stride, self.label_sigma)
        losses = [hinged_square_loss(s, labels) for s in scores]
        total = self.weights.initial * losses[0] + self.weights.final * losses[-1]
        if len(losses) > 2:
            total = total + self.weights.iterates * torch.stack(losses[1:-1]).mean()
        return scores, total

    def _overlap(self, features: dict[str, Tensor], boxes: Tensor) -> Tensor:
        """IoU-Net loss with the first frame as the reference and all others as test frames."""
        reference, reference_boxes = {name: value[:, 0] for name, value in features.items()}, boxes[:, 0]
        test, truth = {name: value[:, 1:].flatten(0, 1) for name, value in features.items()}, boxes[:, 1:]
        if self.overlap_window is not None:
            reference, reference_boxes = cut_windows(reference, reference_boxes, self.overlap_window)
            test, moved = cut_windows(test, truth.flatten(0, 1), self.overlap_window)
            truth = moved.view_as(truth)
        if self.box_loss == "density":
            proposals, distance = draw_boxes(truth, self.proposals)  # (B, test, P, 4) each
            return density_loss(self.network.bb_regressor(reference, test, reference_boxes, proposals), distance)
        proposals = sample_proposals(truth, self.proposals)
        return overlap_loss(self.network.bb_regressor(reference, test, reference_boxes, proposals), proposals, truth)

    def _hit_rates(self, scores: list[Tensor], boxes: Tensor) -> dict[str, Tensor]:
        """Fraction of test frames whose highest score lies within 1.5 cells of the target."""
        stride = self.network.classifier.filter_optimizer.feature_stride
        centre = (boxes[:, self.train_frames :, :2] + boxes[:, self.train_frames :, 2:] / 2) / stride
        result = {}
        for name, s in (("hit_initial", scores[0]), ("hit", scores[-1])):
            peak = s.flatten(2).argmax(2)
            found = torch.stack([peak % s.shape[-1], peak // s.shape[-1]], dim=-1)  # (B, test, 2) x, y
            result[name] = ((found - centre).norm(dim=-1) < 1.5).float().mean()
        return result


def cut_windows(features: dict[str, Tensor], boxes: Tensor, side: int) -> tuple[dict[str, Tensor], Tensor]:
    """Crops feature maps to windows of ``side`` pixels (a multiple of 16) around each image's box xywh (B, 4).

    Returns the windows and the boxes in window pixels.
    """
    cells = side // 16
    limit = features["layer3"].shape[-1] - cells
    centre = (boxes[:, :2] + boxes[:, 2:] / 2) / 16
    first = (centre - cells / 2).round().long().clamp(0, limit)  # (B, 2) x, y
    windows = {}
    for name, ratio in (("layer2", 2), ("layer3", 1)):
        length, pairs = cells * ratio, zip(features[name], (first * ratio).tolist(), strict=True)
        windows[name] = torch.stack([image[:, y : y + length, x : x + length] for image, (x, y) in pairs])
    return windows, torch.cat([boxes[:, :2] - 16 * first, boxes[:, 2:]], dim=1)
