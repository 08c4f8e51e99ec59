"""Float64 answers computed the slow way, streams of inputs to compute them for, and the tolerances of each dtype."""
import torch
from torch import Tensor

# largest error of g P, relative to |P| |g|
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}

STREAMS = ("random", "repeated", "nearly_collinear", "two_clusters", "badly_scaled", "blocks")


def dense_oracle(inputs: list[Tensor], delta: float, beta: float = 1.0) -> Tensor:
    """P_n from the QR decomposition of all weighted inputs: no recursion, no squared condition number."""
    dim = inputs[0].shape[-1]
    count = len(inputs)
    rows = [x.double().reshape(-1, dim) * beta ** ((count - 1 - i) / 2) for i, x in enumerate(inputs)]
    rows.append(torch.eye(dim, dtype=torch.float64) * (delta * beta**count) ** 0.5)
    triangle = torch.linalg.qr(torch.cat(rows), mode="r").R
    inverse = torch.linalg.solve_triangular(triangle, torch.eye(dim, dtype=torch.float64), upper=True)
    return inverse @ inverse.T


def ridge_oracle(inputs: list[Tensor], targets: list[Tensor], delta: float, beta: float) -> Tensor:
    """The minimiser (q, p) of Eq. costfunctionLS, as one least-squares problem."""
    dim, outputs, count = inputs[0].shape[-1], targets[0].shape[-1], len(inputs)
    weights = [beta ** ((count - 1 - i) / 2) for i in range(count)]
    rows = [x.reshape(-1, dim) * w for x, w in zip(inputs, weights, strict=True)]
    answers = [y.reshape(-1, outputs) * w for y, w in zip(targets, weights, strict=True)]
    rows.append(torch.eye(dim, dtype=torch.float64) * (delta * beta**count) ** 0.5)
    answers.append(torch.zeros(dim, outputs, dtype=torch.float64))
    return torch.linalg.lstsq(torch.cat(rows), torch.cat(answers), driver="gelsd").solution.T


def stream(kind: str, count: int, dim: int, seed: int) -> list[Tensor]:
    """Inputs in float64 whose values float32 holds exactly."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    base, other = noise(dim).abs(), noise(dim).abs()
    made = {
        "random": lambda i: noise(dim),
        "repeated": lambda i: base if i % 2 else other,
        "nearly_collinear": lambda i: base + 1e-3 * noise(dim),
        "two_clusters": lambda i: (base if i % 2 else other) + 1e-2 * noise(dim),
        "badly_scaled": lambda i: noise(dim) * 10.0 ** (i % 5 - 2),
        "blocks": lambda i: noise(1 + i % 4, dim),
    }[kind]
    return [made(i).double() for i in range(count)]


def relative_error(product: Tensor, gradient: Tensor, truth: Tensor) -> float:
    """|g P - truth| / (|P| |g|), the worst row."""
    gradient = gradient.double()
    error = torch.linalg.vector_norm(product.double() - gradient @ truth, dim=-1)
    scale = torch.linalg.matrix_norm(truth, 2) * torch.linalg.vector_norm(gradient, dim=-1)
    return float((error / scale).max())
