"""DiMP's target classifier: features, filter initialiser, learned objective and its minimiser."""
from ltr.models.target_classifier.classifier import LinearFilterClassifier
from ltr.models.target_classifier.features import InstanceL2Norm, classification_features
from ltr.models.target_classifier.filtering import apply_filter, correlate_with_maps, correlate_with_residual
from ltr.models.target_classifier.initializer import FilterInitializer
from ltr.models.target_classifier.objective import ObjectiveMaps, TargetObjective
from ltr.models.target_classifier.steepest_descent import OptimizerTrace, SteepestDescentOptimizer

__all__ = [
    "FilterInitializer",
    "InstanceL2Norm",
    "LinearFilterClassifier",
    "ObjectiveMaps",
    "OptimizerTrace",
    "SteepestDescentOptimizer",
    "TargetObjective",
    "apply_filter",
    "classification_features",
    "correlate_with_maps",
    "correlate_with_residual",
]
