"""ATOM: the DiMP tracker with a classifier that is learnt online from scratch."""
import math

import numpy as np
import torch
from torch import Tensor

from ltr.checkpoint import load_network
from ltr.errors import UserError
from ltr.models.bbreg.atom import ATOMNet
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier.filtering import apply_filter
from ltr.models.target_classifier.objective import centre_distance, gaussian
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead
from pytracking.features.crop import sample_patch
from pytracking.features.windows import hann2d
from pytracking.tracker.atom.learner import ConjugateGradientLearner, learn_jointly
from pytracking.tracker.atom.objective import AtomObjective, JointObjective, project
from pytracking.tracker.atom.params import AtomParams
from pytracking.tracker.atom.score_map import interpolate
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.first_frame import FirstFrameSamples, sample_first_frame
from pytracking.tracker.dimp.geometry import PatchFrame
from pytracking.tracker.dimp.learner import OnlineLearner
from pytracking.tracker.dimp.localization import Localizer, localizer_for
from pytracking.tracker.dimp.network import require_file


class AtomTracker(DimpTracker):
    """ATOM's differences from DiMP.

    As published, patches are cut around the integer part of the position, but labels, boxes and translations refer to
    the nearest pixel.
    """

    params: AtomParams
    network: ATOMNet

    def load_network(self, params: AtomParams) -> ATOMNet:
        """Loads ATOM's network, or the backbone and IoU-Net of a DiMP network: ATOM's classifier is learnt online."""
        network = load_network(require_file(params.network_file), self.device)
        if not isinstance(network, BackboneAndBoxHead):
            kind = type(network).__name__
            raise UserError(f"{params.network_file} holds a {kind}, but ATOM needs a backbone and an IoU-Net")
        if not isinstance(network, ATOMNet):
            recommended = network.metadata
            network = ATOMNet(network.feature_extractor, network.bb_regressor).eval()
            network.metadata = recommended
        return prepare_for_inference(network, channels_last=self.device.type != "mps")

    def make_learner(self) -> OnlineLearner:
        if self.params.learner != "conjugate_gradient":
            return super().make_learner()
        classifier, forget_factor = self.params.classifier, 0.0
        if classifier.forgetting_rate is not None and self.params.learning_rate < 1:
            forget_factor = (1 - self.params.learning_rate) ** classifier.forgetting_rate
        return ConjugateGradientLearner(fletcher_reeves=classifier.fletcher_reeves, forget_factor=forget_factor)

    def choose_patch_size(self) -> np.ndarray:
        return np.full(2, whole_cells(self.params.image_sample_size, self.params.classifier.feature_size_odd))

    def sample_first_frame(self, image: np.ndarray) -> FirstFrameSamples:
        return sample_first_frame(
            image, self.state, self.params, self.generator, self.device, self.patch_size, cut_at=self.state.pos
        )

    def learn_first_filter(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Learns projection and filter jointly; returns the projected features for the memory."""
        params = self.params.classifier
        self.label_sigma = params.output_sigma_factor * math.sqrt(self.state.base_size.prod()) / self.stride
        channels, shape = features.shape[1], (1, params.channels, params.kernel_size, params.kernel_size)
        projection = torch.randn(params.channels, channels, generator=self.generator) / math.sqrt(channels)
        filters = torch.randn(shape, generator=self.generator) / math.prod(shape)
        joint = JointObjective(
            features=features,
            label=self.labels(boxes, features),
            sample_weight=features.new_full((len(features),), 1 / len(features)),
            filter_reg=params.filter_reg,
            projection_reg=params.projection_reg,
            slope_length=params.slope_length,
        )
        self.filters, self.projection = learn_jointly(
            joint, filters.to(features), projection.to(features), params.init_steps, params.init_iterations
        )
        return project(features, self.projection)

    @property
    def stride(self) -> int:
        """Patch pixels per cell."""
        return self.network.feature_stride

    def labels(self, boxes: Tensor, features: Tensor) -> Tensor:
        """Gaussian labels (n, h, w) for boxes (n, 4) in patch pixels."""
        kernel = self.params.classifier.kernel_size
        distance = centre_distance(boxes.to(features.dtype)[None], features.shape[-2:], kernel, self.stride)[0]
        return gaussian(distance, self.label_sigma)

    def make_localizer(self, features: Tensor) -> Localizer:
        upsampling = self.params.classifier.score_upsample_factor
        self.map_size = tuple((self.patch_size * upsampling).tolist())
        self.cell_pixels = np.full(2, 1 / upsampling)
        middle = np.array(self.map_size) // 2
        window = None
        if self.params.window_output:
            window = np.roll(hann2d(self.map_size, centered=False)[0, 0].numpy(), middle, (0, 1))
        # As published, the size of a peak's neighbourhood in map pixels does not depend on the upsampling.
        neighborhood = self.params.target_neighborhood_scale / upsampling
        return localizer_for(self.params, window=window, middle=middle, neighborhood_scale=neighborhood)

    def sample_features(self, backbone: dict[str, Tensor]) -> Tensor:
        return project(self.network.classification_features(backbone), self.projection)

    def scores(self, features: Tensor) -> Tensor:
        height, width = features.shape[-2:]
        return apply_filter(features[None], self.filters)[0, :, :height, :width]

    def score_map(self, features: Tensor) -> Tensor:
        return interpolate(self.scores(features)[0], self.map_size, self.filters.shape[-1])

    def problem_of(self, features: Tensor, boxes: Tensor, weights: Tensor) -> AtomObjective:
        params = self.params.classifier
        return AtomObjective(
            features[None],
            self.labels(boxes, features)[None],
            weights.view(1, -1, 1, 1).sqrt(),
            features.new_tensor([params.filter_reg]),
            params.slope_length,
        )

    def cut_patch(self, image: np.ndarray) -> tuple[Tensor, PatchFrame]:
        state = self.state
        patch, _ = sample_patch(
            image, state.pos, state.scale, self.patch_size, convention=self.params.crop_convention, device=self.device
        )
        return patch, PatchFrame(np.round(state.pos), state.scale, self.patch_size)


def whole_cells(side: int, odd: bool, stride: int = 16) -> int:
    """The patch side in pixels: about ``side``, but an even (or odd) number of cells."""
    if odd:
        return side + stride - side % (2 * stride)
    return side + stride - (side + stride) % (2 * stride)
