"""Features of many examples cached on disk, so that frozen layers run only once.

A cache has parts, each a folder of arrays with one row per example. An interrupted build continues where it stopped.
"""
import copy
import json
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ltr.data.examples import Examples
from ltr.errors import UserError
from ltr.files import write_text
from ltr.models.imagenet import normalised
from ltr.models.inference import prepare_for_inference

_START_METHOD = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # a fork shares the network

CHUNK = 4  # examples computed at a time
BACKBONE_BATCH = 4  # images per pass through the backbone: with more, the maps no longer fit into a CPU's caches
Rows = dict[str, np.ndarray]  # arrays with one row per example


@dataclass(frozen=True, slots=True)
class CachePart:
    """A part of a cache, built by one process; `make_examples` returns an indexable object with a length."""

    name: str
    make_examples: Callable[[], Any]


def build_cache(
    root: Path, parts: list[CachePart], compute: Callable[[list[dict]], Rows], what: dict, workers: int = 0
) -> list[Path]:
    """Completes all parts below `root`, `workers` at a time (0: in this process), and returns their folders.

    Parts are independent, so the result is the same for any number of workers.

    Args:
        compute: maps a few examples to the rows to keep.
        what: description of the data and the network; parts made for another description are refused.
    """
    jobs = [(root / part.name, part, compute, what) for part in parts]
    if workers <= 1:
        return [_build_part(job) for job in jobs]
    with multiprocessing.get_context(_START_METHOD).Pool(workers, maxtasksperchild=1) as pool:
        return pool.map(_build_part, jobs, chunksize=1)


@torch.inference_mode()
def _build_part(job: tuple[Path, CachePart, Callable[[list[dict]], Rows], dict]) -> Path:
    folder, part, compute, what = job
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    examples = part.make_examples()
    description = {"examples": len(examples), **what}
    done = _rows_done(folder, description)
    arrays = open_arrays(folder, "r+") if done else None
    with tqdm(total=len(examples), initial=done, desc=f"features {folder.name}", unit="example", mininterval=2) as bar:
        while done < len(examples):
            rows = compute([examples[i] for i in range(done, min(done + CHUNK, len(examples)))])
            if arrays is None:
                arrays = _create_arrays(folder, len(examples), rows)
            count = len(next(iter(rows.values())))
            for name, value in rows.items():
                arrays[name][done : done + count] = value
            done += count
            bar.update(count)
            if done % (50 * CHUNK) == 0 or done == len(examples):
                for array in arrays.values():
                    array.flush()
                write_text(folder / "progress.json", json.dumps({"description": description, "done": done}))
    return folder


def _rows_done(folder: Path, description: dict) -> int:
    file = folder / "progress.json"
    if not file.is_file():
        return 0
    found = json.loads(file.read_text())
    if found["description"] != json.loads(json.dumps(description)):
        raise UserError(f"{folder} was made for {found['description']}, not {description}: move it away")
    return found["done"]


def _create_arrays(folder: Path, length: int, rows: Rows) -> dict[str, np.memmap]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", value.dtype, (length, *value.shape[1:]))
        for name, value in rows.items()
    }


def open_arrays(folder: Path, mode: str = "r") -> dict[str, np.memmap]:
    """The arrays of a part, by name; they stay on disk."""
    files = sorted(folder.glob("*.npy"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no cached features")
    return {file.stem: np.load(file, mmap_mode=mode) for file in files}


class BackboneFeatures:
    """Computes the cached rows of DiMP's examples: the maps `layers` of a frozen backbone in 16 bits, and the boxes."""

    def __init__(self, backbone: nn.Module, layers: list[str]) -> None:
        folded = prepare_for_inference(nn.ModuleDict({"backbone": copy.deepcopy(backbone)}).eval())
        self.backbone, self.layers = folded["backbone"], layers

    def __call__(self, batch: list[dict]) -> Rows:
        images = torch.stack([example["images"] for example in batch])  # (B, frames, 3, H, W)
        flat = normalised(images.flatten(0, 1)).contiguous(memory_format=torch.channels_last)
        batches = [self.backbone(part, self.layers) for part in flat.split(BACKBONE_BATCH)]
        maps = {name: torch.cat([found[name] for found in batches]) for name in self.layers}
        rows = {name: maps[name].unflatten(0, images.shape[:2]).contiguous().half().numpy() for name in self.layers}
        return rows | {"boxes": torch.stack([example["boxes"] for example in batch]).float().numpy()}


class FeatureCache(Examples):
    """DiMP's cached examples, the same in every epoch: `features` (layer -> (frames, C, h, w)) and `boxes`."""

    def __init__(self, folders: list[Path]) -> None:
        super().__init__()
        self.parts = [open_arrays(folder) for folder in folders]
        self.starts = np.cumsum([0, *(len(part["boxes"]) for part in self.parts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, index: int) -> dict:
        part = int(np.searchsorted(self.starts, index, side="right")) - 1
        arrays, row = self.parts[part], index - self.starts[part]
        features = {name: torch.from_numpy(np.array(a[row])) for name, a in arrays.items() if name != "boxes"}
        return {"features": features, "boxes": torch.from_numpy(np.array(arrays["boxes"][row]))}
