"""The classifier as one module: features, initialiser and optimiser of a linear filter."""
from torch import Tensor, nn

from ltr.models.target_classifier.filter_optimizer import FilterOptimizer, OptimizerTrace
from ltr.models.target_classifier.filtering import apply_filter
from ltr.models.target_classifier.initializer import FilterInitializer


class LinearFilterClassifier(nn.Module):
    """Computes scores as the correlation of classification features with one filter per sequence."""

    def __init__(
        self,
        filter_size: int,
        filter_initializer: FilterInitializer,
        filter_optimizer: FilterOptimizer,
        feature_extractor: nn.Sequential,
    ) -> None:
        super().__init__()
        self.filter_size = filter_size
        self.filter_initializer = filter_initializer
        self.filter_optimizer = filter_optimizer
        self.feature_extractor = feature_extractor

    def extract_features(self, backbone_features: Tensor) -> Tensor:
        """Classification features (B, C, H, W)."""
        return self.feature_extractor(backbone_features)

    def get_filter(
        self,
        features: Tensor,
        boxes: Tensor,
        num_iter: int | None = None,
        sample_weight: Tensor | None = None,
        trace: OptimizerTrace | None = None,
    ) -> Tensor:
        """Initialises and optimises filters (S, C, k, k); arguments as for :meth:`FilterOptimizer.forward`."""
        if features.dim() == 4:
            features, boxes = features[None], boxes[None]
        filters = self.filter_initializer(features, boxes)
        return self.filter_optimizer(filters, features, boxes, sample_weight, num_iter, trace)

    def classify(self, filters: Tensor, features: Tensor) -> Tensor:
        """Scores (S, N, H', W') of (S, N, C, H, W), or (N, H', W') of one sequence's (N, C, H, W)."""
        if features.dim() == 4:
            return apply_filter(features[None], filters)[0]
        return apply_filter(features, filters)

    def forward(
        self, train_features: Tensor, test_features: Tensor, train_boxes: Tensor, num_iter: int | None = None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """For meta-training: learns a filter on train frames (S, N, C, H, W) and scores test frames with each iterate.

        Boxes are xywh (S, N, 4).

        Returns:
            Test scores (S, M, H', W') and objective values (S,) for the initial filter and the filter after each step.
        """
        train = self.extract_features(train_features.flatten(0, 1)).unflatten(0, train_features.shape[:2])
        test = self.extract_features(test_features.flatten(0, 1)).unflatten(0, test_features.shape[:2])
        trace = OptimizerTrace()
        self.get_filter(train, train_boxes, num_iter, trace=trace)
        return [self.classify(filters, test) for filters in trace.filters], trace.losses
