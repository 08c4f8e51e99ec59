"""Written for pytracking's interface: a filter with a sample memory, and a state carried from frame to frame."""
import math
import time
from collections import OrderedDict

import torch
import torch.nn.functional as F

import ltr.data.bounding_box_utils as bbutils
from ltr.models.layers import activation
from ltr.models.target_classifier.initializer import FilterInitializerZero
from pytracking import TensorList, dcf, operation
from pytracking.features import augmentation
from pytracking.features.preprocessing import numpy_to_torch, sample_patch_multiscale, sample_patch_transformed
from pytracking.tracker.base import BaseTracker
from pytracking.utils.plotting import plot_graph, show_tensor


class StateFilter(BaseTracker):
    multiobj_mode = "parallel"

    def initialize_features(self):
        if not getattr(self, "features_initialized", False):
            self.params.net.initialize()
        self.features_initialized = True

    def initialize(self, image, info: dict) -> dict:
        self.frame_num = 1
        if not self.params.has("device"):
            self.params.device = "cuda" if self.params.use_gpu else "cpu"
        self.net = self.params.net
        self.initialize_features()
        tic = time.time()
        self.object_id = info.get("object_ids", [None])[0]
        self.id_str = "" if self.object_id is None else f" {self.object_id}"
        im = numpy_to_torch(image)
        state = info["init_bbox"]
        self.pos = torch.Tensor([state[1] + (state[3] - 1) / 2, state[0] + (state[2] - 1) / 2])
        self.target_sz = torch.Tensor([state[3], state[2]])
        self.image_sz = torch.Tensor([im.shape[2], im.shape[3]])
        size = self.params.image_sample_size
        self.img_sample_sz = torch.Tensor([size, size])
        search_area = torch.prod(self.target_sz * self.params.search_area_scale).item()
        self.target_scale = math.sqrt(search_area) / self.img_sample_sz.prod().sqrt()
        self.base_target_sz = self.target_sz / self.target_scale
        self.params.scale_factors = torch.ones(1)
        backbone = self.generate_init_samples(im)
        self.init_classifier(backbone)
        self.init_box_regressor(backbone)
        self.motion = None
        return {"time": time.time() - tic}

    def generate_init_samples(self, im):
        factor = self.params.get("augmentation_expansion_factor", None)
        expanded = (self.img_sample_sz * factor).long()
        out, aug = self.img_sample_sz.long().tolist(), self.params.augmentation
        self.transforms = [augmentation.Identity(out)]
        if "relativeshift" in aug:
            absolute = lambda shift: (torch.Tensor(shift) * self.img_sample_sz / 2).long().tolist()  # noqa: E731
            self.transforms += [augmentation.Translation(absolute(shift), out) for shift in aug["relativeshift"]]
        if aug.get("fliplr", False):
            self.transforms.append(augmentation.FlipHorizontal(out, [4, -4]))
        self.transforms += [augmentation.Blur(sigma, out) for sigma in aug.get("blur", [])]
        self.transforms += [augmentation.Scale(1.1, out)]
        self.transforms += [augmentation.Rotate(angle, out) for angle in aug.get("rotate", [])]
        self.init_sample_scale, self.init_sample_pos = self.target_scale, self.pos.round()
        patches = sample_patch_transformed(
            im, self.init_sample_pos, self.init_sample_scale, expanded.float(), self.transforms
        )
        with torch.no_grad():
            return self.net.extract_backbone(patches)

    def init_classifier(self, backbone):
        x = self.net.extract_classification_feat(backbone)
        if "dropout" in self.params.augmentation:
            num, prob = self.params.augmentation["dropout"]
            self.transforms.extend(self.transforms[:1] * num)
            x = torch.cat([x, F.dropout2d(x[0:1, ...].expand(num, -1, -1, -1), p=prob, training=True)])
        self.feature_sz = torch.Tensor(list(x.shape[-2:]))
        ksz = self.net.classifier.filter_size
        self.kernel_size = torch.Tensor([ksz, ksz] if isinstance(ksz, (int, float)) else ksz)
        self.output_sz = self.feature_sz + (self.kernel_size + 1) % 2
        self.output_window = dcf.hann2d_clipped(
            self.output_sz.long(), (self.output_sz * 0.9).long(), centered=True
        ).to(self.params.device)
        box = self.get_iounet_box(self.pos, self.target_sz, self.init_sample_pos, self.init_sample_scale)
        boxes = [box + torch.Tensor([T.shift[1], T.shift[0], 0, 0]) for T in self.transforms]
        self.target_boxes = torch.stack(boxes).to(self.params.device)
        self.net.classifier.filter_initializer = FilterInitializerZero(
            self.net.classifier.filter_size, feature_dim=x.shape[-3]
        )
        with torch.no_grad():
            self.target_filter, _, losses = self.net.classifier.get_filter(
                x, self.target_boxes, num_iter=self.params.net_opt_iter, compute_losses=True
            )
        losses = losses["train"] if isinstance(losses, dict) else losses
        self.losses = torch.cat([torch.as_tensor(loss).reshape(-1) for loss in losses])
        if self.visdom is None and self.params.debug >= 3:
            plot_graph(self.losses, 10, title="Training Loss" + self.id_str)
        self.training_samples = TensorList([x.new_zeros(self.params.sample_memory_size, *x.shape[1:])])
        self.num_init = self.num_stored = x.shape[0]
        for memory, init in zip(self.training_samples, TensorList([x]), strict=True):
            memory[: self.num_init] = init
        self.sample_weights = TensorList([x.new_zeros(self.params.sample_memory_size)])
        self.sample_weights[0][: self.num_init] = 1 / self.num_init
        self.boxes = x.new_zeros(self.params.sample_memory_size, 4)
        self.boxes[: self.num_init] = self.target_boxes
        self.label = dcf.label_function_spatial(self.output_sz, torch.Tensor([0.1, 0.1]), end_pad=torch.zeros(2))

    def init_box_regressor(self, backbone):
        feat = self.net.get_backbone_bbreg_feat(backbone)
        first = TensorList([each[:1] for each in feat])
        with torch.no_grad():
            modulation = self.net.bb_regressor.get_modulation(first, self.target_boxes[:1])
        self.iou_modulation = TensorList([each.detach().mean(0) for each in modulation])

    def track(self, image, info: dict = None) -> dict:
        self.debug_info = {}
        self.frame_num += 1
        im = numpy_to_torch(image)
        patches, coords = sample_patch_multiscale(
            im, self.pos, self.target_scale * self.params.scale_factors, self.img_sample_sz,
            mode=self.params.get("border_mode", "replicate"),
            max_scale_change=self.params.get("patch_max_scale_change", None),
        )
        with torch.no_grad():
            backbone = self.net.extract_backbone(patches)
            test_x = self.net.extract_classification_feat(backbone)
            scores = self.net.classifier.classify(self.target_filter, test_x)
        sample_pos, sample_scales = self.get_sample_location(coords)
        scores = self.fuse(scores)
        if self.params.get("window_output", False):
            scores = scores * self.output_window
        max_score, max_disp = dcf.max2d(scores.reshape(-1, *scores.shape[-2:]))
        _, scale_ind = torch.max(max_score, dim=0)
        disp = max_disp[scale_ind, ...].float().cpu().view(-1) - (self.output_sz - 1) / 2
        self.pos = sample_pos[scale_ind] + disp * (self.img_sample_sz / self.feature_sz) * sample_scales[scale_ind]
        self.refine(backbone, sample_pos[scale_ind], sample_scales[scale_ind], scale_ind)
        self.update(test_x[scale_ind : scale_ind + 1], sample_pos[scale_ind], sample_scales[scale_ind])
        if self.visdom is not None:
            self.visdom.register(scores.squeeze(), "heatmap", 2, "Score Map" + self.id_str)
        elif self.params.debug >= 2:
            show_tensor(scores.squeeze(), 5, title="scores")
        new_state = torch.cat((self.pos[[1, 0]] - (self.target_sz[[1, 0]] - 1) / 2, self.target_sz[[1, 0]]))
        return OrderedDict(target_bbox=new_state.tolist(), object_presence_score=max_score[scale_ind].cpu().item())

    def fuse(self, scores):
        """What was seen before, moved to where it should be now, weighs what is seen now."""
        scores = scores.reshape(-1, 1, *scores.shape[-2:])
        weights = activation.softmax_reg(scores.reshape(len(scores), -1), dim=1, reg=1.0).view_as(scores)
        smooth = operation.conv2d(weights, torch.ones(1, 1, 3, 3, device=scores.device) / 9, mode="same")
        self.motion = smooth if self.motion is None else 0.5 * self.motion + 0.5 * smooth
        return scores if not self.params.remember_motion else scores * (1 + 0.1 * self.motion / self.motion.max())

    def refine(self, backbone, sample_pos, sample_scale, scale_ind):
        box = self.get_iounet_box(self.pos, self.target_sz, sample_pos, sample_scale)
        feat = TensorList([each[scale_ind : scale_ind + 1] for each in self.net.get_backbone_bbreg_feat(backbone)])
        with torch.no_grad():
            iou_features = TensorList(self.net.bb_regressor.get_iou_feat(feat))
        sz_norm = box[2:].clone().view(1, 1, 2)
        boxes = bbutils.rect_to_rel(box.view(1, 1, 4), sz_norm)
        step = torch.Tensor(self.params.box_refinement_step_length).repeat_interleave(2).view(1, 1, 4)
        for _ in range(self.params.box_refinement_iter):
            relative = boxes.clone().detach().requires_grad_(True)
            with torch.enable_grad():
                outputs = self.net.bb_regressor.predict_iou(
                    self.iou_modulation, iou_features, bbutils.rel_to_rect(relative, sz_norm)
                )
                outputs.backward(gradient=torch.ones_like(outputs))
            boxes = (relative + step * relative.grad).detach()
        x, y, w, h = bbutils.rel_to_rect(boxes, sz_norm).view(4).tolist()
        center = torch.Tensor([y + (h - 1) / 2, x + (w - 1) / 2])
        self.pos = (center - (self.img_sample_sz - 1) / 2) * sample_scale + sample_pos
        self.target_sz = torch.Tensor([h, w]) * sample_scale
        self.target_scale = torch.sqrt(self.target_sz.prod() / self.base_target_sz.prod())

    def update(self, train_x, sample_pos, sample_scale):
        box = self.get_iounet_box(self.pos, self.target_sz, sample_pos, sample_scale)
        rate, index = self.params.learning_rate, self.num_init + (self.frame_num - 2) % (
            self.params.sample_memory_size - self.num_init
        )
        self.sample_weights *= 1 - rate
        lists = self.sample_weights, self.training_samples, TensorList([train_x])
        for weights, memory, x in zip(*lists, strict=True):
            weights[index] = rate
            weights /= weights.sum()
            memory[index : index + 1] = x
        self.boxes[index] = box.to(self.boxes)
        self.num_stored = max(self.num_stored, index + 1)
        if (self.frame_num - 1) % self.params.train_skipping == 0:
            with torch.no_grad():
                self.target_filter, _, losses = self.net.classifier.filter_optimizer(
                    self.target_filter, num_iter=self.params.net_opt_update_iter,
                    feat=self.training_samples[0][: self.num_stored], bb=self.boxes[: self.num_stored],
                    sample_weight=self.sample_weights[0][: self.num_stored], compute_losses=True,
                )
            self.losses = torch.cat([self.losses, *(torch.as_tensor(loss).reshape(-1) for loss in losses)])

    def get_sample_location(self, sample_coord):
        sample_coord = sample_coord.float()
        sample_pos = 0.5 * (sample_coord[:, :2] + sample_coord[:, 2:] - 1)
        sample_scales = ((sample_coord[:, 2:] - sample_coord[:, :2]) / self.img_sample_sz).prod(dim=1).sqrt()
        return sample_pos, sample_scales

    def get_iounet_box(self, pos, sz, sample_pos, sample_scale):
        box_center = (pos - sample_pos) / sample_scale + (self.img_sample_sz - 1) / 2
        box_sz = sz / sample_scale
        target_ul = box_center - (box_sz - 1) / 2
        return torch.cat([target_ul.flip((0,)), box_sz.flip((0,))])

    def visdom_draw_tracking(self, image, box, segmentation=None):
        if self.visdom is not None:
            self.visdom.register((image, box), "Tracking", 1, "Tracking")
