"""Truncation of a factored form under a memory budget: its rank, the smaller basis, and a bound of the error.

When rows run out, the directions in which Phi' (the stored correlation matrix) differs least from sigma I are given up,
as in robust frequent directions (Luo et al., 2019, after Ghashami et al., 2016). Let rho be the largest eigenvalue of
Phi' - sigma I among them. Given-up and never seen directions get the eigenvalue sigma + rho/2, and the kept ones lose
rho/2 ("shift"), so no vector's energy changes by more than rho/2. Each truncation lowers the trace of Phi' - sigma I by
rho per kept row. So the sum of all rho is at most the energy of the inputs outside their best k directions, divided by
(rows kept + 1 - k), for any k: a stream of numerically low rank costs next to nothing, however long it is.

The exact Phi and sigma_0 = delta beta^n are not stored, but numbers h and l are, for which, in the order of positive
semidefinite matrices,

    -l Phi' - h sigma_0 I  <=  Phi - Phi'  <=  l Phi' + h sigma_0 I                                          (*)

* An update adds the same X^T X to both and multiplies Phi, Phi' and sigma_0 by beta: (*) holds with the same h and l.
* A shift changes Phi' by at most rho/2: h grows by (1 + l) rho / (2 sigma_0) and sigma by rho/2.
* The alternative, "forget", resets directions to the eigenvalue sigma and leaves the others as they are. Phi' changes
  by at most rho, and h grows by (1 + l) rho / sigma_0. If rho is much larger than sigma, as with a tiny delta, both
  bounds are useless; but a shift then lowers P in all directions never seen, and forgetting does not.
* Dropping a direction of length d from a block X, X' = X - d m u^T, changes X^T X by d (X'^T m u^T + u m^T X') +
  d^2 u u^T. Because Phi' >= X'^T X' and Phi' >= sigma I, this is at most 2 d / sqrt(sigma) + d^2 / sigma times Phi' in
  either direction, and l grows by that factor.

Phi' >= sigma I = (1 + g) sigma_0 I, where g is the sum of all rho / (2 sigma_0). So (*) bounds P = Phi^-1 by

    |P' - P|  <=  alpha (l (1 + g) + h) / ((1 + g) ((1 - l) (1 + g) - h)),       alpha = 1 / sigma_0,

which is h / (1 + h) for l = 0. The error is never more than alpha, as both matrices lie between 0 and alpha I.
"""
import math

import torch
from torch import Tensor

from .basis import OrthonormalBasis, bytes_per_row
from .errors import HyperparameterError
from .square_root import SquareRootCore

_LEAST_RANK = 2
# A truncation frees max_rank / divisor rows, which spreads its cost over that many updates. "shift" keeps more rows
# because each makes its bound smaller; the bound of "forget" is too loose to matter.
_SLACK_DIVISOR = {"shift": 8, "forget": 2}


def bytes_at_rank(rank: int, dim: int, dtype: torch.dtype, core: torch.dtype) -> int:
    """Bytes of a factored form of this rank: its basis, its core with the root, and the middle factor of products."""
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
            f"memory_budget of {budget} bytes is too small for P with dim={dim} in {dtype}: it needs at least {needed}"
        )
    return rank


def slack_of(max_rank: int, when_full: str) -> int:
    """Rows that a truncation frees, at least one."""
    return max(max_rank // _SLACK_DIVISOR[when_full], 1)


class ErrorBound:
    """The numbers h, g and l of the module docstring."""

    def __init__(self, shifted: float = 0.0, raised: float = 0.0, left_out: float | Tensor = 0.0) -> None:
        self.shifted = shifted  # h
        self.raised = raised  # g
        self.left_out = left_out  # l; a tensor on accelerators, where reading it would wait for the device

    def give_up(self, half: float) -> None:
        """Account for a shift with rho / (2 sigma_0) = ``half``."""
        self.raised += half
        self.shifted += (1.0 + float(self.left_out)) * half

    def forget(self, energy: float) -> None:
        """Account for forgotten directions with rho / sigma_0 = ``energy``."""
        self.shifted += (1.0 + float(self.left_out)) * energy

    @staticmethod
    def of_leaving_out(lengths: Tensor, alpha: float) -> Tensor:
        """Growth of l if directions of these lengths are dropped from a block; alpha is 1 / sigma."""
        return 2 * math.sqrt(alpha) * lengths + alpha * lengths**2

    @property
    def relative(self) -> float:
        """Bound of |P' - P| / alpha, at most 1."""
        left_out, raised = float(self.left_out), 1.0 + self.raised
        margin = (1.0 - left_out) * raised - self.shifted
        return 1.0 if margin <= 0 else min((left_out * raised + self.shifted) / (raised * margin), 1.0)

    def state(self) -> dict[str, float]:
        """The constructor arguments that restore it."""
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

    The first r - k rows of H are then an orthonormal basis of the complement of the orthonormal columns ``dropped``
    (r, k), for the cost of k columns instead of r. With W = ``dropped``, W2 its last k rows, V the orthogonal factor of
    W2 and Z = (0; -V), W^T Z is symmetric. So Y = W - Z gives H W = Z with K = (I + V^T W2)^-1, and K^-1 >= I.
    """
    count = dropped.shape[1]
    last = dropped[-count:]  # (k, k)
    left, _, right = torch.linalg.svd(last)
    orthogonal = left @ right  # V
    normals = dropped.clone()
    normals[-count:] += orthogonal
    system = orthogonal.T @ last
    system = (system + system.T) / 2
    system.diagonal().add_(1.0)
    return normals, torch.linalg.inv(system)
