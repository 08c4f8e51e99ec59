"""Compares forgetting of two learners on a linear stream whose inputs drift away and come back.

Inputs excite k directions that rotate by up to 45 degrees into new ones and back, while the map to be learnt stays the
same. Gradient descent on a sliding window corrects its errors along the current inputs and thereby loses what it knew
about the old ones. Recursive least squares changes only what the old inputs leave undetermined (docs/rls.md).

    python benchmarks/rls_drift.py            prints the errors and writes docs/img/rls_drift.png
"""
from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import torch

from rls_ext import RLSRegressor

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "img" / "rls_drift.png"
LEGS = ("learn", "drift away", "stay away", "come back")


@dataclass(frozen=True)
class Curves:
    """Relative errors after every sample, on the initial inputs and on the current inputs."""

    old_window: list[float]
    old_rls: list[float]
    now_window: list[float]
    now_rls: list[float]
    leg: int


def angle_at(step: int, leg: int) -> float:
    """Rises to 45 degrees in the second leg, stays there in the third, and returns to 0 in the fourth."""
    away = min(max(step - leg, 0), leg) - max(step - 3 * leg, 0)
    return math.pi / 4 * away / leg


def run(seed: int = 0, leg: int = 150, k: int = 12, window: int = 20, iterations: int = 5) -> Curves:
    """Feed both learners the same noisy samples, one at a time."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    turn = torch.linalg.qr(normal(2 * k, 2 * k)).Q
    first, second = turn[:k], turn[k:]  # (k, 2k) each
    truth = normal(2, 2 * k)
    rls = RLSRegressor(2 * k, 2, delta=0.01)
    weight = torch.zeros_like(truth)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    curves = Curves([], [], [], [], leg)
    for step in range(4 * leg):
        angle = angle_at(step, leg)
        directions = math.cos(angle) * first + math.sin(angle) * second
        x = normal(k) @ directions
        y = truth @ x + 0.05 * normal(2)
        rls.update(x, y)
        seen = (seen + [(x, y)])[-window:]
        weight = descend(weight, torch.stack([a for a, _ in seen]), torch.stack([b for _, b in seen]), iterations)
        for estimate, old, now in (
            (weight, curves.old_window, curves.now_window), (rls.weight, curves.old_rls, curves.now_rls)
        ):
            old.append(relative_error(estimate, truth, first))
            now.append(relative_error(estimate, truth, directions))
    return curves


def descend(weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor, iterations: int) -> torch.Tensor:
    """Gradient descent on the squared error of the window, with a step of 1/L, L the largest curvature."""
    rate = 1.0 / torch.linalg.matrix_norm(x, 2) ** 2
    for _ in range(iterations):
        weight = weight - rate * (x @ weight.T - y).T @ x
    return weight


def relative_error(estimate: torch.Tensor, truth: torch.Tensor, directions: torch.Tensor) -> float:
    wrong, right = (estimate - truth) @ directions.T, truth @ directions.T
    return float(torch.linalg.matrix_norm(wrong) / torch.linalg.matrix_norm(right))


def plot(curves: Curves, path: Path) -> None:
    """Draws two panels: errors on the initial inputs and on the current inputs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    for panel, title, window, rls in (
        (panels[0], "error on the initial inputs", curves.old_window, curves.old_rls),
        (panels[1], "error on the current inputs", curves.now_window, curves.now_rls),
    ):
        panel.semilogy(window, color="tab:orange", label="gradient descent on a sliding window")
        panel.semilogy(rls, color="tab:blue", label="recursive least squares")
        panel.set(title=title, xlabel="samples seen")
        for number, name in enumerate(LEGS):
            panel.axvspan(number * curves.leg, (number + 1) * curves.leg, color="0.5", alpha=0.06 * (number % 2))
            panel.text((number + 0.5) * curves.leg, 1.5, name, ha="center", fontsize=8)
        panel.set_ylim(8e-4, 2.5)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("relative error")
    panels[0].legend(loc="lower left", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    curves = run()
    print("relative error on the initial inputs, at the end of each leg")
    print(f"{'leg':12} {'sliding window':>16} {'RLS':>10}")
    for number, name in enumerate(LEGS, start=1):
        last = number * curves.leg - 1
        print(f"{name:12} {curves.old_window[last]:16.4f} {curves.old_rls[last]:10.4f}")
    plot(curves, arguments.output)
    print(f"figure: {arguments.output.name}")


if __name__ == "__main__":
    main()
