"""Time and memory of the forms of P, as ratios measured side by side in one run.

    python benchmarks/rls_cost.py                 all parts, a few minutes
    python benchmarks/rls_cost.py --part filter   one of: filter (p = 8192), layer (p = 4609), conv

Times are processor time of one thread, the minimum of several interleaved rounds, to reduce the effect of other load.
Writes docs/img/rls_cost.png from the parts that were run.
"""
from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from tqdm import tqdm

from rls_ext import InverseCorrelation, virtual_input_conv

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "img" / "rls_cost.png"
LAYER_RANKS = (0, 100, 500, 1000, 1500, 2000, 6000)


def seconds(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


class PlainDense:
    """A dense float32 P without checks, updated in the fastest way or as in the released code."""

    def __init__(self, dim: int, delta: float) -> None:
        self.matrix = torch.eye(dim) / delta

    def update_in_place(self, x: torch.Tensor) -> None:
        k = self.matrix @ x
        v = k / torch.sqrt(1 + x @ k)
        self.matrix.addr_(v, v, alpha=-1)

    def update_as_released(self, x: torch.Tensor) -> None:
        k = self.matrix @ x
        self.matrix = self.matrix - torch.outer(k, k) / (1 + x @ k)


def measure_filter(dim: int = 8192, steps: int = 100, products: int = 5, rounds: int = 12) -> dict:
    """RLS-DiMP's filter: an update followed by five products with one row, repeated a hundred times."""
    inputs, g = torch.randn(steps, dim), torch.randn(dim)
    dense = PlainDense(dim, 0.1)

    def step(update: Callable, multiply: Callable, x: torch.Tensor) -> None:
        update(x)
        for _ in range(products):
            multiply(g)

    best = {"in place": math.inf, "released": math.inf}
    factored = [math.inf] * steps
    for number in tqdm(range(rounds), desc=f"filter, p = {dim}"):
        x = inputs[number % steps]
        if number < 3:
            for name, update in (("in place", dense.update_in_place), ("released", dense.update_as_released)):
                best[name] = min(best[name], seconds(lambda u=update, x=x: step(u, lambda g: dense.matrix @ g, x)))
        inverse = InverseCorrelation(dim, delta=0.1)
        for i, x in enumerate(inputs):
            taken = seconds(lambda x=x, p=inverse: step(p.update, p.precondition, x))
            factored[i] = min(factored[i], taken)
    ours = sum(factored) / steps
    print(f"\np = {dim}, one update and {products} products of one row, mean over {steps} updates")
    print(f"{'':22}{'ms':>9}{'ratio':>9}{'MiB':>9}")
    print(f"{'factored':22}{ours * 1e3:9.2f}{1.0:9.1f}{inverse.nbytes / 2**20:9.2f}")
    for name, taken in best.items():
        print(f"{'dense, ' + name:22}{taken * 1e3:9.2f}{taken / ours:9.1f}{dim * dim * 4 / 2**20:9.2f}")
    return {"factored": factored, "in place": best["in place"], "released": best["released"]}


def at_rank(dim: int, rank: int, form: str) -> InverseCorrelation:
    """A P with the state after ``rank`` updates by orthogonal inputs of length 1/10, without running them."""
    inverse = InverseCorrelation(dim, delta=5e-4, form=form)
    if rank >= 0.35 * dim:
        inverse.load_state_dict(inverse.state_dict() | {
            "form": "dense", "steps": rank, "impl": {"matrix": torch.eye(dim) * 100, "rank": rank}
        })
    elif rank:
        basis = torch.eye(rank, dim, dtype=torch.float64)
        root = torch.eye(rank, dtype=torch.float64) * 10
        state = {"basis": basis, "root": root, "log_sigma": math.log(5e-4)}
        inverse.load_state_dict(inverse.state_dict() | {"steps": rank, "impl": state})
    return inverse


def measure_layer(dim: int = 4609, outputs: int = 512, samples: int = 128, rounds: int = 2) -> dict:
    """RLS-RTMDNet's fc4: an update and a product with a gradient of 512 rows, or with its factor of 128 rows."""
    gradient, batch, deltas = torch.randn(outputs, dim), torch.randn(samples, dim), torch.randn(samples, outputs)
    dense = PlainDense(dim, 5e-4)
    table = {}
    print(f"\np = {dim}, one update and one gradient of {outputs} rows (or its factors of {samples} rows)")
    print(f"{'n':>6}{'dense ms':>10}{'auto ms':>10}{'ratio':>8}{'factors ms':>12}{'ratio':>8}{'MiB':>8}", flush=True)
    for rank in LAYER_RANKS:
        inverse = at_rank(dim, rank, "auto")
        best = [math.inf] * 3
        for _ in range(rounds):
            x = torch.randn(dim) * 0.1
            ways = (
                lambda x=x: (dense.update_in_place(x), gradient @ dense.matrix),
                lambda x=x, p=inverse: (p.update(x), p.precondition(gradient)),
                lambda x=x, p=inverse: (p.update(x), deltas.T @ p.precondition(batch)),
            )
            best = [min(b, seconds(way)) for b, way in zip(best, ways, strict=True)]
        table[rank] = plain, auto, factors, size = (*best, inverse.nbytes)
        print(f"{rank:6}{plain * 1e3:10.1f}{auto * 1e3:10.1f}{plain / auto:8.2f}{factors * 1e3:12.1f}"
              f"{plain / factors:8.2f}{size / 2**20:8.1f}", flush=True)
    return table


def measure_conv(samples: int = 50, channels: int = 512, size: int = 18, kernel: int = 4, rounds: int = 5) -> float:
    """The virtual input of DiMP's sample memory, compared with unfolding all patches."""
    features = torch.randn(samples, channels, size, size)
    gamma = torch.rand(samples, size + 1, size + 1)

    def unfolded() -> torch.Tensor:
        columns = F.unfold(features, kernel, padding=kernel // 2)
        return (columns * gamma.sqrt().reshape(samples, 1, -1)).sum((0, 2)) / math.sqrt(gamma.numel())

    slow = fast = math.inf
    for _ in tqdm(range(rounds), desc="virtual_input_conv"):
        slow = min(slow, seconds(unfolded))
        fast = min(fast, min(seconds(lambda: virtual_input_conv(features, kernel, gamma)) for _ in range(3)))
    print(f"\nvirtual input of {samples} x {channels} x {size} x {size}: unfold and sum {slow * 1e3:.1f} ms, "
          f"virtual_input_conv {fast * 1e3:.1f} ms, ratio {slow / fast:.1f}")
    return slow / fast


def plot(filter_times: dict | None, layer: dict | None, path: Path) -> None:
    """Plots time against n for both problems, and memory against n."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    if filter_times:
        count = len(filter_times["factored"])
        panels[0].semilogy([t * 1e3 for t in filter_times["factored"]], label="factored (auto)")
        for name, style in (("in place", "--"), ("released", ":")):
            panels[0].semilogy([0, count], [filter_times[name] * 1e3] * 2, style, label=f"dense float32, {name}")
        panels[0].set(title="p = 8192: update + 5 products of a row", xlabel="updates n", ylabel="ms")
        panels[0].legend(fontsize=8)
    if layer:
        ranks = list(layer)
        for column, label in enumerate(("dense float32, in place", "auto", "auto, factors of 128 rows")):
            panels[1].plot(ranks, [layer[n][column] * 1e3 for n in ranks], "o-", ms=3, label=label)
        panels[1].set(title="p = 4609: update + gradient of 512 rows", xlabel="updates n", ylabel="ms", ylim=(0, None))
        panels[1].legend(fontsize=8)
        panels[2].plot(ranks, [layer[n][3] / 2**20 for n in ranks], "o-", ms=3, label="auto, p = 4609")
        for bytes_each, name in ((4, "float32"), (2, "float16")):
            height = 4609**2 * bytes_each / 2**20
            panels[2].axhline(height, ls="--", color="0.5", lw=1)
            panels[2].text(ranks[-1], height, f"dense {name}", ha="right", va="bottom", fontsize=8)
        panels[2].set(title="memory", xlabel="updates n", ylabel="MiB", ylim=(0, None))
        panels[2].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("all", "filter", "layer", "conv"), default="all")
    parser.add_argument("--output", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    wanted = ("conv", "filter", "layer") if arguments.part == "all" else (arguments.part,)
    if "conv" in wanted:
        measure_conv()
    filter_times = measure_filter() if "filter" in wanted else None
    layer = measure_layer() if "layer" in wanted else None
    if filter_times or layer:
        plot(filter_times, layer, arguments.output)
        print(f"figure: {arguments.output.name}")


if __name__ == "__main__":
    main()
