"""The errors of recursive least squares."""


class RLSError(Exception):
    """Base of all errors raised by ``rls_ext``."""


class ShapeError(RLSError, ValueError):
    """A tensor does not have the shape the call needs."""


class HyperparameterError(RLSError, ValueError):
    """``delta``, ``beta``, ``form``, ``dtype`` or another setting is out of range."""


class NonFiniteInputError(RLSError, ValueError):
    """An input holds NaN or infinity; P was left as it was."""


class PositiveDefinitenessError(RLSError, ArithmeticError):
    """Rounding made a dense P indefinite; raised only with ``on_loss="raise"``, P was left as it was."""


class ForgettingOverflowError(RLSError, OverflowError):
    """With beta < 1, P grows as beta**-n in directions without inputs until it overflows; P was left as it was."""

    def __init__(self, dtype: object, beta: float) -> None:
        super().__init__(
            f"P no longer fits {dtype}: directions without new inputs grow as beta**-n (beta={beta}). "
            "Call reset(), use a beta nearer to 1, or a wider dtype."
        )


class StateMismatchError(RLSError, ValueError):
    """A state dict belongs to another matrix or another set of layers."""


class UnsupportedModuleError(RLSError, TypeError):
    """A layer cannot be preconditioned (only ``nn.Linear`` and ungrouped ``nn.Conv2d`` can)."""


class MissingGradientError(RLSError, RuntimeError):
    """``step()`` found inputs but no gradients: ``backward()`` was not called, or its gradients were cleared."""


class PositiveDefinitenessWarning(UserWarning):
    """A dense P lost positive definiteness and was restarted from I/delta."""
