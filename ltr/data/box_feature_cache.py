"""Cached features of target and background boxes of many domains, for training MDNet with frozen convolutions."""
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Subset

from ltr.actors.mdnet import scene_features
from ltr.data.examples import Examples
from ltr.data.feature_cache import CachePart, Rows, build_cache, open_arrays
from ltr.data.mdnet_examples import MdnetExamples


def build_box_cache(
    folder: Path, examples: MdnetExamples, network: nn.Module, what: dict, workers: int = 0
) -> list[Path]:
    """Builds one part per cycle of `examples`, with one frame's box features per domain as rows; see `build_cache`.

    `examples` must have one frame per example.
    """
    domains = len(examples.videos)
    parts = [
        CachePart(f"frame_{cycle:03d}", partial(Subset, examples, range(cycle * domains, (cycle + 1) * domains)))
        for cycle in range(examples.cycles)
    ]
    return build_cache(folder, parts, partial(_box_features, network), what, workers)


def _box_features(network: nn.Module, batch: list[dict]) -> Rows:
    positive, negative = zip(*(scene_features(network, example) for example in batch), strict=True)
    return {"positive": torch.stack(positive).half().numpy(), "negative": torch.stack(negative).half().numpy()}


class BoxFeatureCache(Examples):
    """Draws boxes of a few frames of one domain.

    Domains are visited in proportion to their cached frames, since a video shows more than a photograph. `frames`,
    `positive` and `negative` are upper limits per example; `cycles` is the number of visits per epoch to the domain
    with the fewest frames.

    Args:
        caches: folders returned by `build_box_cache`; domains are numbered through all caches in order.
    """

    def __init__(
        self, caches: list[list[Path]], frames: int, positive: int, negative: int, cycles: int, seed: int = 0
    ) -> None:
        super().__init__(seed)
        self.domains = []  # (parts, row) of each
        for folders in caches:
            parts = [open_arrays(folder) for folder in folders]
            self.domains += [(parts, row) for row in range(len(parts[0]["positive"]))]
        fewest = min(len(parts) for parts, _ in self.domains)
        self.visits = [d for d, (parts, _) in enumerate(self.domains) for _ in range(len(parts) // fewest)]
        self.frames, self.positive, self.negative, self.cycles = frames, positive, negative, cycles

    def __len__(self) -> int:
        return len(self.visits) * self.cycles

    def __getitem__(self, index: int) -> dict:
        rng = self.rng(index)
        domain = self.visits[index % len(self.visits)]
        parts, row = self.domains[domain]
        chosen = [parts[f] for f in rng.choice(len(parts), min(self.frames, len(parts)), replace=False)]
        return {
            "domain": domain,
            "positive_features": _draw([part["positive"][row] for part in chosen], self.positive, rng),
            "negative_features": _draw([part["negative"][row] for part in chosen], self.negative, rng),
        }


def _draw(boxes: list[np.ndarray], count: int, rng: np.random.Generator) -> torch.Tensor:
    flat = np.concatenate(boxes)  # (n, D)
    return torch.from_numpy(flat[rng.choice(len(flat), min(count, len(flat)), replace=False)])
