"""Boxes x, y, w, h relative to a size, under the names that pytracking's trackers use."""
import torch
from torch import Tensor


def rect_to_rel(bb: Tensor, sz_norm: Tensor | None = None) -> Tensor:
    """Centres divided by ``sz_norm`` (default: each box's own size), and logarithms of the sizes."""
    position, size = bb.split(2, -1)
    return torch.cat([(position + size / 2) / (size if sz_norm is None else sz_norm), size.log()], -1)


def rel_to_rect(bb: Tensor, sz_norm: Tensor | None = None) -> Tensor:
    """Inverse of :func:`rect_to_rel`."""
    centre, logarithm = bb.split(2, -1)
    size = logarithm.exp()
    return torch.cat([centre * (size if sz_norm is None else sz_norm) - size / 2, size], -1)
