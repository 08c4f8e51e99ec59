"""Feature extractors with the interface that pytracking's ATOM uses."""
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pytracking.compat.networks import LAYERS, NetWithBackbone
from pytracking.compat.preprocessing import sample_patch_multiscale, sample_patch_transformed
from pytracking.compat.tensorlist import TensorList
from pytracking.features.crop import BorderMode

STRIDES = {"conv1": 2, "layer1": 4, "layer2": 8, "layer3": 16, "layer4": 32}


class ATOMResNet18:
    """Extracts normalised backbone layers of a network; keeps the IoU-Net's features of the last patches."""

    def __init__(
        self,
        output_layers: Sequence[str] = ("layer3",),
        net_path: str = "atom_default.pth",
        use_gpu: bool = True,
        fparams: Any = None,
        normalize_power: float | None = None,
    ) -> None:
        self.output_layers, self.fparams, self.normalize_power = list(output_layers), fparams, normalize_power
        self._net = NetWithBackbone(net_path, use_gpu)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._net.net_path!r}, {self.output_layers})"

    def initialize(self) -> None:
        """Loads the network."""
        self._net.initialize()
        self.iou_predictor = self._net.bb_regressor

    def stride(self) -> TensorList:
        """Pixels per cell, for each layer."""
        return TensorList([STRIDES[layer] for layer in self.output_layers])

    def size(self, im_sz: Tensor) -> TensorList:
        """Size of a patch in cells, for each layer."""
        return TensorList([im_sz // stride for stride in self.stride()])

    @torch.no_grad()
    def get_feature(self, im: Tensor) -> TensorList:
        """Returns the layers' feature maps of patches (n, 3, h, w) in 0..255."""
        layers = sorted({*self.output_layers, *LAYERS})
        maps = self._net.net.extract_backbone_features(self._net.preprocess_image(im), layers)
        self.iounet_backbone_features = TensorList([maps[layer].clone() for layer in LAYERS])
        self.iounet_features = TensorList(self.iou_predictor.get_iou_feat(self.iounet_backbone_features))
        return TensorList([self._normalised(maps[layer]) for layer in self.output_layers])

    def _normalised(self, features: Tensor) -> Tensor:
        if self.normalize_power is None:
            return features
        mean = features.abs().pow(self.normalize_power).mean((1, 2, 3), keepdim=True)
        return features / (mean + 1e-10) ** (1 / self.normalize_power)


ATOMResNet50 = ATOMResNet18  # the checkpoint decides the depth


class MultiResolutionExtractor:
    """Extracts the maps of several features from patches at several scales."""

    def __init__(
        self, features: list[Any], patch_mode: BorderMode = "replicate", max_scale_change: float | None = None
    ) -> None:
        self.features, self.patch_mode, self.max_scale_change = features, patch_mode, max_scale_change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.features})"

    def initialize(self) -> None:
        """Loads the networks."""
        for feature in self.features:
            feature.initialize()

    def set_is_color(self, is_color: bool) -> None:
        """Does nothing: images always have three channels here."""

    def stride(self) -> Tensor:
        """Pixels per cell, for each map."""
        return torch.tensor([float(stride) for feature in self.features for stride in feature.stride()])

    def size(self, input_sz: Tensor) -> TensorList:
        """Size of a patch in cells, for each map."""
        return TensorList([feature.size(input_sz) for feature in self.features]).unroll()

    def get_fparams(self, name: str) -> TensorList:
        """Returns a parameter for each map."""
        return TensorList([getattr(feature.fparams, name) for feature in self.features]).unroll()

    def get_unique_attribute(self, name: str) -> Any:
        """Returns an attribute that exactly one feature has."""
        (found,) = [getattr(feature, name) for feature in self.features if hasattr(feature, name)]
        return found

    def extract(
        self, im: Tensor, pos: Tensor, scales: Any, image_sz: Tensor, return_patches: bool = False
    ) -> tuple[Any, ...]:
        """Returns the maps and corners of patches at several scales, and optionally the patches."""
        patches, coords = sample_patch_multiscale(im, pos, scales, image_sz, self.patch_mode, self.max_scale_change)
        maps = TensorList([feature.get_feature(patches) for feature in self.features]).unroll()
        return (maps, coords, patches) if return_patches else (maps, coords)

    def extract_transformed(
        self, im: Tensor, pos: Tensor, scale: float, image_sz: Tensor, transforms: Sequence[Callable]
    ) -> TensorList:
        """Returns the maps of a patch after each transform."""
        patches = sample_patch_transformed(im, pos, scale, image_sz, transforms)
        return TensorList([feature.get_feature(patches) for feature in self.features]).unroll()
