"""Recursive least squares for PyTorch: P_n and Phi_n, the exact estimator, and a preconditioner for any network."""
from .basis import PFactors
from .conjugate_gradients import conjugate_gradients
from .errors import (
    ForgettingOverflowError,
    HyperparameterError,
    MissingGradientError,
    NonFiniteInputError,
    PositiveDefinitenessError,
    PositiveDefinitenessWarning,
    RLSError,
    ShapeError,
    StateMismatchError,
    UnsupportedModuleError,
)
from .inverse_correlation import InverseCorrelation
from .normal_equations import NormalEquations
from .preconditioner import RLSPreconditioner
from .regressor import RLSRegressor
from .virtual_inputs import virtual_input_conv, virtual_input_linear

__all__ = [
    "ForgettingOverflowError",
    "HyperparameterError",
    "InverseCorrelation",
    "MissingGradientError",
    "NonFiniteInputError",
    "NormalEquations",
    "PFactors",
    "PositiveDefinitenessError",
    "PositiveDefinitenessWarning",
    "RLSError",
    "RLSPreconditioner",
    "RLSRegressor",
    "ShapeError",
    "StateMismatchError",
    "UnsupportedModuleError",
    "conjugate_gradients",
    "virtual_input_conv",
    "virtual_input_linear",
]
