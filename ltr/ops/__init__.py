"""Region-of-interest operators in plain PyTorch: nothing to compile, the same code on CPU, CUDA and MPS."""
from ltr.ops.precise_roi_pool import PreciseRoIPool, integrated_hat_weights, pool_boxes, precise_roi_pool
from ltr.ops.roi_sampling import RoISampler, crop_and_resize, roi_sample

__all__ = [
    "PreciseRoIPool", "RoISampler", "crop_and_resize", "integrated_hat_weights", "pool_boxes", "precise_roi_pool",
    "roi_sample",
]  # fmt: skip
