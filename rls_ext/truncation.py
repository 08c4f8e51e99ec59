"""How a factored form with a memory budget gives up directions: rank, the smaller basis, and the error's bound.

When rows run out, the directions in which Phi' (the correlation matrix kept) differs least from sigma I are given up,
as robust frequent directions do it (Luo et al., 2019, after Ghashami et al., 2016). With rho the largest eigenvalue of
Phi' - sigma I among them, those given up, like all directions never seen, get the eigenvalue sigma + rho/2, and those
kept lose rho/2: no vector's energy changes by more than rho/2, either way. Each time the trace of Phi' - sigma I
loses rho for every row kept, so the sum of all rho is at most the energy of the inputs outside their best k directions,
divided by (rows kept + 1 - k), whatever k: a stream of numerically low rank costs next to nothing, forever.

The exact Phi and sigma_0 = delta beta^n are never seen again, but numbers h, l are kept for which, in the order of
positive semidefinite matrices,

    -l Phi' - h sigma_0 I  <=  Phi - Phi'  <=  l Phi' + h sigma_0 I                                          (*)

* An update adds the same X^T X to both and multiplies Phi, Phi' and sigma_0 by beta: (*) holds with the same h and l.
* Giving up directions changes Phi' by at most rho/2: h grows by (1 + l) rho / (2 sigma_0), sigma by rho/2.
* Forgetting directions, which is the other choice, takes them back to sigma, changes Phi' by at most rho, h grows by
  (1 + l) rho / sigma_0, and the others stay as they are. Where rho is much larger than sigma, as with a tiny delta,
  both bounds say nothing; but sharing then lowers P on all that was never seen, and forgetting does not.
* Leaving a direction of length d out of a block X, X' = X - d m u^T, changes X^T X by d (X'^T m u^T + u m^T X') +
  d^2 u u^T. Because Phi' >= X'^T X' and Phi' >= sigma I that is at most 2 d / sqrt(sigma) + d^2 / sigma times Phi',
  either way: l grows by that.

Phi' >= sigma I = (1 + g) sigma_0 I, where g is the sum of the rho / (2 sigma_0). So (*) bounds P = Phi^-1 by

    |P' - P|  <=  alpha (l (1 + g) + h) / ((1 + g) ((1 - l) (1 + g) - h)),       alpha = 1 / sigma_0,

which is h / (1 + h) for l = 0; and it is at most alpha in any case, as both lie between 0 and alpha I.
"""
from __future__ import annotations

import math

import torch
from torch import Tensor

from .basis import OrthonormalBasis, bytes_per_row
from .errors import HyperparameterError
from .square_root import SquareRootCore

_LEAST_RANK = 2
# A truncation makes room for this part of the rank, so that its cost is spread over as many updates. Sharing keeps
# more, as every row kept makes its bound smaller; forgetting has no bound to speak of.
_SLACK_PART = {"shift": 8, "forget": 2}


def bytes_at_rank(rank: int, dim: int, dtype: torch.dtype, core: torch.dtype) -> int:
    """What a factored form of that many rows holds: basis, core with its root, and the middle of its products."""
    return rank * bytes_per_row(dim, dtype) + rank * rank * _bytes_per_entry(dtype, core)


def _bytes_per_entry(dtype: torch.dtype, core: torch.dtype) -> int:
    return 2 * core.itemsize + (8 if dtype == torch.float64 else 4)


def rank_within(budget: int, dim: int, dtype: torch.dtype, core: torch.dtype) -> int:
    """The highest rank, up to dim, whose factored form fits into ``budget`` bytes."""
    linear, square = bytes_per_row(dim, dtype), _bytes_per_entry(dtype, core)
    rank = int((math.sqrt(linear * linear + 4 * square * budget) - linear) / (2 * square))
    rank = min(rank, dim)
    least = min(_LEAST_RANK, dim)
    if rank < least:
        needed = bytes_at_rank(least, dim, dtype, core)
        raise HyperparameterError(
            f"memory_budget of {budget} bytes is too small for P with dim={dim} in {dtype}: it takes at least {needed}"
        )
    return rank


def slack_of(max_rank: int, when_full: str) -> int:
    """Rows that a truncation frees, at least one."""
    return max(max_rank // _SLACK_PART[when_full], 1)


class ErrorBound:
    """The numbers h, g and l of the module's docstring."""

    def __init__(self, shifted: float = 0.0, raised: float = 0.0, left_out: float | Tensor = 0.0) -> None:
        self.shifted = shifted  # h
        self.raised = raised  # g
        self.left_out = left_out  # l; a tensor on devices that should not be waited for

    def give_up(self, half: float) -> None:
        """Directions were given up at rho / (2 sigma_0) = ``half``."""
        self.raised += half
        self.shifted += (1.0 + float(self.left_out)) * half

    def forget(self, energy: float) -> None:
        """Directions were forgotten, as if they had not been seen; rho / sigma_0 = ``energy`` was the most in one."""
        self.shifted += (1.0 + float(self.left_out)) * energy

    @staticmethod
    def of_leaving_out(lengths: Tensor, alpha: float) -> Tensor:
        """By how much l grows when directions of these lengths are left out; alpha is 1 / sigma."""
        return 2 * math.sqrt(alpha) * lengths + alpha * lengths**2

    @property
    def relative(self) -> float:
        """Bound of |P' - P| / alpha, at most 1."""
        left_out, floor = float(self.left_out), 1.0 + self.raised
        margin = (1.0 - left_out) * floor - self.shifted
        return 1.0 if margin <= 0 else min((left_out * floor + self.shifted) / (floor * margin), 1.0)

    def state(self) -> dict[str, float]:
        """What restores it, as keyword arguments."""
        return {"shifted": self.shifted, "raised": self.raised, "left_out": float(self.left_out)}


def truncate(
    basis: OrthonormalBasis, core: SquareRootCore, rows: int, sigma: float, bound: ErrorBound, when_full: str
) -> float:
    """Keep the ``rows`` directions in which P differs most from I / sigma; returns the new sigma."""
    values, dropped = core.largest(core.size - rows)
    half = max(1.0 / float(values[0]) - sigma, 0.0) / 2
    normals, weights = complement_reflection(dropped)
    basis.reflect(normals, weights, rows)
    core.reflect(normals, weights, rows)
    relative = half / sigma * (1.0 + bound.raised)  # sigma = (1 + raised) sigma_0
    if when_full == "forget":
        bound.forget(2 * relative)
        return sigma
    core.lower(half)
    bound.give_up(relative)
    return sigma + half


def complement_reflection(dropped: Tensor) -> tuple[Tensor, Tensor]:
    """Y (r, k) and K (k, k) of the reflection H = I - Y K Y^T that maps the columns of ``dropped`` to the last k axes.

    The first r - k rows of H are then an orthonormal basis of the complement of orthonormal ``dropped`` (r, k), at the
    price of k rows instead of r. With V the orthogonal factor of the last k rows W2 of W = ``dropped``, and
    Z = (0; -V), W^T Z is symmetric, so Y = W - Z gives H W = Z with K = (I + V^T W2)^-1, whose inverse is at least I.
    """
    count = dropped.shape[1]
    last = dropped[-count:]  # (k, k)
    left, _, right = torch.linalg.svd(last)
    turn = left @ right  # V
    normals = dropped.clone()
    normals[-count:] += turn
    system = turn.T @ last
    system = (system + system.T) / 2
    system.diagonal().add_(1.0)
    return normals, torch.linalg.inv(system)
