"""Region-of-interest operators in plain PyTorch: nothing to compile, the same code on CPU, CUDA and MPS."""
from ltr.ops.precise_roi_pool import (
    PreciseRoIPool,
    integrated_hat_slopes,
    integrated_hat_weights,
    pool_boxes,
    precise_roi_pool,
)

__all__ = ["PreciseRoIPool", "integrated_hat_slopes", "integrated_hat_weights", "pool_boxes", "precise_roi_pool"]
