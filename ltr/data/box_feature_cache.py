"""Features of target and background boxes of many domains on disk, for training MDNet with frozen convolutions."""
from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ltr.actors.mdnet import scene_features
from ltr.data.mdnet_examples import MdnetExamples
from ltr.errors import UserError
from ltr.files import replacing, write_text

_START = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # a fork shares the network


def build_box_cache(folder: Path, examples: MdnetExamples, network: nn.Module, what: dict, workers: int = 0) -> Path:
    """Writes one file of float16 features for each domain, unless it is there; returns `folder`.

    `examples` must show each domain ``examples.cycles`` times, one frame each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    description = folder / "description.json"
    text = json.dumps({"frames": examples.cycles, **what}, sort_keys=True)
    if description.is_file() and description.read_text() != text:
        raise UserError(f"{folder} was made for {description.read_text()}, not {text}: move it away")
    write_text(description, text)
    jobs = [(folder / f"domain_{d:04d}.npz", d, examples, network) for d in range(len(examples.videos))]
    jobs = [job for job in jobs if not job[0].is_file()]
    if workers <= 1:
        for job in tqdm(jobs, desc="box features", unit="domain"):
            _write_domain(job)
        return folder
    with multiprocessing.get_context(_START).Pool(workers) as pool:
        for _ in tqdm(pool.imap_unordered(_write_domain, jobs), total=len(jobs), desc="box features", unit="domain"):
            pass
    return folder


@torch.no_grad()
def _write_domain(job: tuple) -> None:
    path, domain, examples, network = job
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    positive, negative = [], []
    for cycle in range(examples.cycles):
        of_targets, of_background = scene_features(network, examples[cycle * len(examples.videos) + domain])
        positive.append(of_targets.half().numpy())
        negative.append(of_background.half().numpy())
    with replacing(path) as temporary:
        np.savez(temporary, positive=np.stack(positive), negative=np.stack(negative))  # (frames, boxes, D) each


class BoxFeatureCache(torch.utils.data.Dataset):
    """Draws boxes of a few frames of one domain; example `i` of epoch `e` depends on (seed, e, i) alone.

    A domain is visited in proportion to its cached frames: a video shows more than a photograph.
    """

    def __init__(
        self, folders: list[Path], frames: int, positive: int, negative: int, cycles: int, seed: int = 0
    ) -> None:
        self.domains = []
        for file in (file for folder in folders for file in sorted(folder.glob("domain_*.npz"))):
            with np.load(file) as arrays:
                self.domains.append((arrays["positive"], arrays["negative"]))
        fewest = min(len(positive) for positive, _ in self.domains)
        self.visits = [d for d, (positive, _) in enumerate(self.domains) for _ in range(len(positive) // fewest)]
        self.frames, self.positive, self.negative, self.cycles = frames, positive, negative, cycles
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch whose examples are drawn next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.visits) * self.cycles

    def __getitem__(self, index: int) -> dict:
        rng = np.random.default_rng([self.seed, self.epoch, index])
        domain = self.visits[index % len(self.visits)]
        positive, negative = self.domains[domain]
        frames = rng.choice(len(positive), min(self.frames, len(positive)), replace=False)
        return {
            "domain": domain,
            "positive_features": _draw(positive[frames], self.positive, rng),
            "negative_features": _draw(negative[frames], self.negative, rng),
        }


def _draw(boxes: np.ndarray, count: int, rng: np.random.Generator) -> torch.Tensor:
    flat = boxes.reshape(-1, boxes.shape[-1])
    return torch.from_numpy(flat[rng.choice(len(flat), min(count, len(flat)), replace=False)])
