"""Target classifiers of the DiMP family: features, filter initialiser, learning objectives and optimisers."""
from ltr.models.target_classifier.classifier import LinearFilterClassifier
from ltr.models.target_classifier.density import DensityObjective, DensityOptimizer, softmax_over_cells
from ltr.models.target_classifier.features import InstanceL2Norm, classification_features
from ltr.models.target_classifier.filter_objective import FilterObjective, SquaredObjective, of_samples
from ltr.models.target_classifier.filter_optimizer import FilterOptimizer, OptimizerTrace
from ltr.models.target_classifier.filtering import apply_filter, correlate_with_residual
from ltr.models.target_classifier.hinge import HingeOptimizer
from ltr.models.target_classifier.initializer import FilterInitializer
from ltr.models.target_classifier.objective import ObjectiveMaps, TargetObjective
from ltr.models.target_classifier.steepest_descent import SteepestDescentOptimizer

__all__ = [
    "DensityObjective",
    "DensityOptimizer",
    "FilterInitializer",
    "FilterObjective",
    "FilterOptimizer",
    "HingeOptimizer",
    "InstanceL2Norm",
    "LinearFilterClassifier",
    "ObjectiveMaps",
    "OptimizerTrace",
    "SquaredObjective",
    "SteepestDescentOptimizer",
    "TargetObjective",
    "apply_filter",
    "classification_features",
    "correlate_with_residual",
    "of_samples",
    "softmax_over_cells",
]
