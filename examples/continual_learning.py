"""A network learns from a stream without forgetting: RLSPreconditioner compared with SGD and Adam.

    python examples/continual_learning.py [--steps 100] [--seeds 3] [--output docs/img/gallery_stream.png]

A single function is to be learnt, but the inputs come from one region after another and never return, so a learner can
forget earlier regions. Every sample is seen once. Each optimizer is shown with the best of four step lengths, the one
with the smallest final error over all regions.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from rls_ext import RLSPreconditioner

DIM, HIDDEN, REGIONS, BATCH = 24, 64, 8, 8
STEP_LENGTHS = {
    "SGD": (0.003, 0.01, 0.03, 0.1),
    "Adam": (0.0003, 0.001, 0.003, 0.01),
    "SGD + RLS": (0.01, 0.03, 0.1, 0.3),
}


def regions(generator: torch.Generator) -> tuple[Callable[[int], tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
    """Returns a function that draws samples of a region, and held-out samples of every region."""
    teacher = nn.Sequential(nn.Linear(DIM, 32), nn.Tanh(), nn.Linear(32, 1))
    for parameter in teacher.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    centres = torch.randn(REGIONS, DIM, generator=generator)

    @torch.no_grad()
    def draw(region: int, count: int = BATCH) -> tuple[Tensor, Tensor]:
        x = centres[region] + 0.3 * torch.randn(count, DIM, generator=generator)
        return x, teacher(x)

    return draw, [draw(region, 256) for region in range(REGIONS)]


def learn(method: str, step_length: float, seed: int, steps: int) -> list[float]:
    """Trains a model; returns the error over all regions seen so far, relative to their variance, after each region."""
    generator = torch.Generator().manual_seed(seed)
    draw, held_out = regions(generator)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(DIM, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    kind = torch.optim.Adam if method == "Adam" else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=step_length)
    preconditioner = RLSPreconditioner(model, delta=1.0) if "RLS" in method else None
    errors = []
    for region in range(REGIONS):
        for _ in range(steps):
            x, y = draw(region)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            if preconditioner is not None:
                preconditioner.step()
            optimizer.step()
        errors.append(_error(model, held_out[: region + 1]))
    return errors


@torch.no_grad()
def _error(model: nn.Module, samples: list[tuple[Tensor, Tensor]]) -> float:
    x, y = (torch.cat(parts) for parts in zip(*samples, strict=True))
    return float(((model(x) - y) ** 2).mean() / y.var())


def compare(steps: int, seeds: int) -> dict[str, Tensor]:
    """Each optimizer's curves (seeds, regions) at its best step length."""
    best = {}
    for method, lengths in STEP_LENGTHS.items():
        runs = [torch.tensor([learn(method, length, seed, steps) for seed in range(seeds)]) for length in lengths]
        ends = [curves[:, -1].nan_to_num(float("inf")).mean() for curves in runs]
        chosen = min(range(len(runs)), key=ends.__getitem__)
        best[f"{method}, step {lengths[chosen]}"] = runs[chosen]
    return best


def draw_figure(curves: dict[str, Tensor], path: Path) -> None:
    """Draws the error against the regions seen: mean and range over seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, values in curves.items():
        places = range(1, values.shape[1] + 1)
        (line,) = axes.plot(places, values.mean(0), marker="o", label=name)
        axes.fill_between(places, values.amin(0), values.amax(0), alpha=0.2, color=line.get_color())
    axes.set(xlabel="regions seen", ylabel="error over all of them (1: the mean)", yscale="log")
    axes.set_title("One function, region after region, each sample once")
    axes.legend()
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="mini-batches per region")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("stream.png"))
    args = parser.parse_args(argv)
    curves = compare(args.steps, args.seeds)
    for name, values in curves.items():
        print(f"{name:<24} error over all regions at the end: {values[:, -1].mean():.3f}")
    draw_figure(curves, args.output)
    print(f"picture: {args.output}")


if __name__ == "__main__":
    main()
