"""Region-of-interest operators in plain PyTorch: nothing to compile, the same code on CPU, CUDA and MPS."""
from ltr.ops.precise_roi_pool import corners_from_xywh, integrated_hat_weights, pool_boxes
from ltr.ops.roi_sampling import RoISampler, roi_sample

__all__ = ["RoISampler", "corners_from_xywh", "integrated_hat_weights", "pool_boxes", "roi_sample"]
