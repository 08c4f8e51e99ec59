"""Matrices whose rows start at cache lines: with rows of odd length (a bias!) products take up to 1.6 times as long."""
from __future__ import annotations

import torch
from torch import Tensor

_LINE = 64  # bytes


def aligned_length(columns: int, dtype: torch.dtype) -> int:
    """The least number of entries, from ``columns`` on, that fill whole cache lines."""
    entries = max(_LINE // dtype.itemsize, 1)
    return -(-columns // entries) * entries


def aligned_zeros(rows: int, columns: int, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """Zeros (rows, columns) in rows of ``aligned_length``; what is behind a row's end stays zero."""
    return torch.zeros(rows, aligned_length(columns, dtype), dtype=dtype, device=device)[:, :columns]
