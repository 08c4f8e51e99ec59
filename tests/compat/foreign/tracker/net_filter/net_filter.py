"""Written for pytracking's interface: a network's filter finds the target, its box regressor scores the box."""
import math

import torch

from pytracking import TensorList, dcf, operation
from pytracking.features import augmentation
from pytracking.features.preprocessing import numpy_to_torch, sample_patch_multiscale, sample_patch_transformed
from pytracking.tracker.base import BaseTracker


class NetFilter(BaseTracker):
    def initialize_features(self):
        if not getattr(self, "features_initialized", False):
            self.params.net.initialize()
        self.features_initialized = True

    def initialize(self, image, info):
        self.initialize_features()
        self.net = self.params.net
        x, y, w, h = info["init_bbox"]
        self.pos, self.target_sz = torch.Tensor([y + (h - 1) / 2, x + (w - 1) / 2]), torch.Tensor([h, w])
        self.sample_sz = torch.Tensor([self.params.image_sample_size] * 2)
        self.scale = math.sqrt(torch.prod(self.target_sz * self.params.search_area_scale)) / self.sample_sz[0]
        size = self.sample_sz.long().tolist()
        transforms = [
            augmentation.Identity(size),
            augmentation.Translation((16, -16), size),
            augmentation.FlipHorizontal(size),
            augmentation.Blur((2, 2), size),
            augmentation.Rotate(10, size),
        ]
        frame = numpy_to_torch(image)
        patches = sample_patch_transformed(frame, self.pos.round(), self.scale, 2 * self.sample_sz, transforms)
        box = self._box(self.pos.round(), self.scale)
        boxes = torch.stack([box + torch.Tensor([t.shift[1], t.shift[0], 0, 0]) for t in transforms])
        with torch.no_grad():
            backbone = self.net.extract_backbone(patches)
            features = self.net.extract_classification_feat(backbone)
            learn = self.net.classifier.get_filter
            self.filter, _, self.losses = learn(features, boxes, num_iter=5, compute_losses=True)
            first = TensorList([each[:1] for each in self.net.get_backbone_bbreg_feat(backbone)])
            modulation = self.net.bb_regressor.get_modulation(first, boxes[:1])
        self.modulation = TensorList([each.detach().mean(0) for each in modulation])
        self.window = dcf.hann2d(torch.Tensor(list(features.shape[-2:])).long(), centered=True)

    def track(self, image, info=None):
        patches, coords = sample_patch_multiscale(numpy_to_torch(image), self.pos, [self.scale], self.sample_sz)
        with torch.no_grad():
            backbone = self.net.extract_backbone(patches)
            scores = self.net.classifier.classify(self.filter, self.net.extract_classification_feat(backbone))
            scores = operation.conv2d(scores, torch.ones(1, 1, 1, 1), mode="same")
        best, place = dcf.max2d(scores.squeeze(1))
        size = torch.Tensor(list(scores.shape[-2:]))
        cells = size - (self.net.classifier.filter_size + 1) % 2
        sample_pos = 0.5 * (coords[0, :2] + coords[0, 2:] - 1)
        self.pos = sample_pos + (place[0] - (size - 1) / 2) * self.sample_sz / cells * self.scale
        features = self.net.bb_regressor.get_iou_feat(self.net.get_backbone_bbreg_feat(backbone))
        proposal = self._box(sample_pos, self.scale).view(1, 1, 4).requires_grad_(True)
        with torch.enable_grad():
            overlap = self.net.bb_regressor.predict_iou(self.modulation, features, proposal)
            overlap.backward(torch.ones_like(overlap))
        assert proposal.grad.abs().sum() > 0
        corner = self.pos - (self.target_sz - 1) / 2
        box = [corner[1], corner[0], self.target_sz[1], self.target_sz[0]]
        return {"target_bbox": [float(value) for value in box], "object_presence_score": best.item()}

    def _box(self, sample_pos, scale):
        center = (self.pos - sample_pos) / scale + (self.sample_sz - 1) / 2
        size = self.target_sz / scale
        return torch.cat([(center - (size - 1) / 2).flip(0), size.flip(0)])
