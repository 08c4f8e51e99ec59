"""This project's networks with pytracking's methods."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ltr import checkpoint
from ltr.models.bbreg.iou_net import IoUNet, Modulation
from ltr.models.imagenet import MEAN, STD
from ltr.models.target_classifier.filter_optimizer import OptimizerTrace
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead
from ltr.models.tracking.dimpnet import DiMPNet
from ltr.weights import find_weights
from pytracking.compat.tensorlist import TensorList
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.networks import MissingWeightsError

LAYERS = ("layer2", "layer3")  # inputs of the box regressor
Learnt = tuple[Tensor, list[Tensor], list[Tensor]]  # the last filter, all filters, all losses


def load_network(net_path: str, **overrides: Any) -> Network:
    """Loads a checkpoint of pytracking or this project, by path or by name in ``network_path``, or a bundled one."""
    folder = env_settings().network_path
    file = find_weights(str(net_path), [folder])
    if file is None:
        raise MissingWeightsError(f"network '{net_path}' is not in {folder}; `pytracking weights` says where to get it")
    overrides.pop("backbone_pretrained", None)
    return Network(checkpoint.load_network(file, **overrides))


class Network(nn.Module):
    """Wraps one of this project's networks in pytracking's interface."""

    def __init__(self, network: BackboneAndBoxHead) -> None:
        super().__init__()
        self.network = network.requires_grad_(False)
        self.feature_extractor = network.feature_extractor
        self.bb_regressor = BoxRegressor(network.bb_regressor)
        if isinstance(network, DiMPNet):
            self.classifier = Classifier(network)

    def extract_backbone_features(self, im: Tensor, layers: Sequence[str] | None = None) -> dict[str, Tensor]:
        """Returns the feature maps of normalised images (n, 3, h, w) by layer name."""
        return self.network.backbone_features(im, layers)

    def extract_classification_feat(self, backbone_feat: dict[str, Tensor]) -> Tensor:
        """Returns the features that the filter is applied to."""
        return self.network.classification_features(backbone_feat)

    def get_backbone_clf_feat(self, backbone_feat: dict[str, Tensor]) -> Tensor:
        """Returns the classifier's input map."""
        return backbone_feat[self.network.classification_layer]

    def get_backbone_bbreg_feat(self, backbone_feat: dict[str, Tensor]) -> list[Tensor]:
        """Returns the box regressor's input maps."""
        return [backbone_feat[name] for name in LAYERS]


class Classifier(nn.Module):
    """The target classifier."""

    def __init__(self, network: DiMPNet) -> None:
        super().__init__()
        self.own = network.classifier
        self.filter_size = network.filter_size
        self.filter_initializer = network.classifier.filter_initializer
        self.filter_optimizer = Optimizer(network.classifier.filter_optimizer)

    def classify(self, weights: Tensor, feat: Tensor) -> Tensor:
        """Returns scores (n, 1, h, w) of features (n, C, h, w)."""
        return self.own.classify(weights, feat)[:, None]

    def get_filter(
        self,
        feat: Tensor,
        bb: Tensor,
        num_iter: int | None = None,
        compute_losses: bool = True,
        train_label: Any = None,
    ) -> Learnt:
        """Learns the first filter on features (n, C, h, w) with boxes (n, 4), which also define the labels."""
        weights = self.filter_initializer(feat[None], bb[None])
        return self.filter_optimizer(weights, num_iter=num_iter, feat=feat, bb=bb, compute_losses=compute_losses)


class Optimizer(nn.Module):
    """The filter optimiser; reading and setting attributes acts on the wrapped one."""

    def __init__(self, own: nn.Module) -> None:
        super().__init__()
        self.own = own

    def __getattr__(self, name: str) -> Any:
        own = super().__getattr__("own")
        return own if name == "own" else getattr(own, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" in vars(self) and "own" in vars(self)["_modules"]:
            setattr(vars(self)["_modules"]["own"], name, value)
        else:
            super().__setattr__(name, value)

    def forward(
        self,
        weights: Tensor,
        num_iter: int | None = None,
        feat: Tensor | None = None,
        bb: Tensor | None = None,
        sample_weight: Tensor | None = None,
        compute_losses: bool = True,
        train_label: Any = None,
    ) -> Learnt:
        """Runs the optimiser; arguments may be lists of one element, and boxes define the labels."""
        trace = OptimizerTrace()
        first, feat, bb, sample_weight = (_unlisted(argument) for argument in (weights, feat, bb, sample_weight))
        last = self.own(first, feat, bb, sample_weight, num_iter, trace)
        result = TensorList([last]) if isinstance(weights, list) else last
        return result, trace.filters, trace.losses if compute_losses else []


def _unlisted(value: Any) -> Any:
    """Returns the only element of a list; any other value unchanged."""
    if not isinstance(value, list):
        return value
    (element,) = value
    return element


class BoxRegressor(nn.Module):
    """The IoU-Net."""

    def __init__(self, own: IoUNet) -> None:
        super().__init__()
        self.own = own

    def get_modulation(self, feat: Sequence[Tensor], bb: Tensor) -> tuple[Tensor, Tensor]:
        """Returns channel factors (n, C, 1, 1) of the targets in boxes (n, 4), one per image."""
        fine, coarse = self.own.modulation(dict(zip(LAYERS, feat, strict=True)), bb.reshape(-1, 4))
        return fine[..., None, None], coarse[..., None, None]

    def get_iou_feat(self, feat2: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Returns the test branch's feature maps."""
        return self.own.test_features(dict(zip(LAYERS, feat2, strict=True)))

    def predict_iou(self, modulation: Sequence[Tensor], feat: Sequence[Tensor], proposals: Tensor) -> Tensor:
        """Predicts the overlaps (b, n) of proposals (b, n, 4)."""
        factors = Modulation(*(factor.reshape(len(proposals), -1) for factor in modulation))
        return self.own.predict(factors, tuple(feat), proposals)


class NetWrapper:
    """Loads a network on demand and gives access to its attributes."""

    def __init__(self, net_path: str, use_gpu: bool = True, initialize: bool = False, **kwargs: Any) -> None:
        self.net_path = net_path
        self.use_gpu = use_gpu and torch.cuda.is_available()
        self.net: Network | None = None
        self.net_kwargs = kwargs
        if initialize:
            self.initialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.net_path!r})"

    def __getattr__(self, name: str) -> Any:
        net = vars(self).get("net")
        if net is None:
            raise AttributeError(f"{name!r}: call initialize() first to load '{vars(self).get('net_path')}'")
        return getattr(net, name)

    def load_network(self) -> None:
        """Loads the network, even if it is loaded already."""
        self.net = load_network(self.net_path, **self.net_kwargs).eval()
        if self.use_gpu:
            self.net.cuda()

    def initialize(self) -> None:
        """Loads the network unless it is loaded already."""
        if self.net is None:
            self.load_network()


class NetWithBackbone(NetWrapper):
    """A network that takes images (n, 3, h, w) in 0..255."""

    def __init__(
        self,
        net_path: str,
        use_gpu: bool = True,
        initialize: bool = False,
        image_format: str = "rgb",
        mean: Sequence[float] = MEAN,
        std: Sequence[float] = STD,
        **kwargs: Any,
    ) -> None:
        self.image_format = image_format
        self._mean, self._std = (torch.tensor(numbers).view(1, -1, 1, 1) for numbers in (mean, std))
        super().__init__(net_path, use_gpu, initialize, **kwargs)

    def preprocess_image(self, im: Tensor) -> Tensor:
        """Normalises images for the network."""
        if self.image_format in ("bgr", "bgr255"):
            im = im[:, [2, 1, 0]]
        if self.image_format in ("rgb", "bgr"):
            im = im / 255
        im = (im - self._mean) / self._std
        return im.cuda() if self.use_gpu else im

    def extract_backbone(self, im: Tensor) -> dict[str, Tensor]:
        """Returns feature maps by layer name."""
        return self.net.extract_backbone_features(self.preprocess_image(im))
