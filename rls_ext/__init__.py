"""Recursive least squares for PyTorch: the matrix P_n, the exact estimator, and a preconditioner for any network."""
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
from .preconditioner import RLSPreconditioner
from .regressor import RLSRegressor
from .virtual_inputs import virtual_input_conv, virtual_input_linear

__all__ = [
    "ForgettingOverflowError",
    "HyperparameterError",
    "InverseCorrelation",
    "MissingGradientError",
    "NonFiniteInputError",
    "PositiveDefinitenessError",
    "PositiveDefinitenessWarning",
    "RLSError",
    "RLSPreconditioner",
    "RLSRegressor",
    "ShapeError",
    "StateMismatchError",
    "UnsupportedModuleError",
    "virtual_input_conv",
    "virtual_input_linear",
]
