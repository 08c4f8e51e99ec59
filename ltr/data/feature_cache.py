"""Backbone features of many examples on disk: where the backbone is frozen it needs to run only once.

A cache is a folder of float16 arrays, one for each backbone layer, beside the boxes. Building can be interrupted: what
is done is kept, and the next call continues from there.
"""
from __future__ import annotations

import copy
import json
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from ltr.data.processing import DimpExamples
from ltr.errors import UserError
from ltr.files import write_text
from ltr.models.imagenet import normalised
from ltr.models.inference import prepare_for_inference

_START = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # a fork shares the network

CHUNK = 4  # examples drawn at a time
FEW = 4  # images for each pass through the backbone: with more, a CPU's caches no longer hold the maps


class FeatureCache(torch.utils.data.Dataset):
    """Examples of a cache, or of several with the same layers: `features` (layer -> (frames, C, h, w)) and `boxes`."""

    def __init__(self, folders: list[Path]) -> None:
        self.parts = [_open_arrays(folder, "r") for folder in folders]
        self.starts = np.cumsum([0, *(len(part["boxes"]) for part in self.parts)])

    def set_epoch(self, epoch: int) -> None:
        """The examples are the same in every epoch."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, index: int) -> dict:
        part = int(np.searchsorted(self.starts, index, side="right")) - 1
        arrays, row = self.parts[part], index - self.starts[part]
        features = {name: torch.from_numpy(np.array(a[row])) for name, a in arrays.items() if name != "boxes"}
        return {"features": features, "boxes": torch.from_numpy(np.array(arrays["boxes"][row]))}


@dataclass(frozen=True, slots=True)
class CachePart:
    """A part of a cache, built by one process."""

    name: str
    make_examples: Callable[[], DimpExamples]


def build_caches(
    root: Path, parts: list[CachePart], backbone: nn.Module, layers: list[str], what: dict, workers: int = 0
) -> list[Path]:
    """Builds all parts below `root`, `workers` at a time (0: in this process), and returns their folders.

    Parts depend on themselves alone, so the result is the same for any number of workers.
    """
    jobs = [(root / part.name, part, backbone, layers, what) for part in parts]
    if workers <= 1:
        return [_build_part(job) for job in jobs]
    with multiprocessing.get_context(_START).Pool(workers, maxtasksperchild=1) as pool:
        return pool.map(_build_part, jobs, chunksize=1)


def _build_part(job: tuple) -> Path:
    folder, part, backbone, layers, what = job
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    folded = prepare_for_inference(nn.ModuleDict({"backbone": copy.deepcopy(backbone)}).eval())
    return build_cache(folder, part.make_examples(), folded["backbone"], layers, what)


def build_cache(folder: Path, examples: DimpExamples, backbone: nn.Module, layers: list[str], what: dict) -> Path:
    """Runs the backbone over all examples, unless the folder has them.

    Args:
        folder: where the arrays go.
        examples: what to run on.
        backbone: maps normalised images and layer names to feature maps.
        layers: names of the maps to keep.
        what: description of the data and the backbone; a folder made for another description is refused.

    Returns:
        `folder`.
    """
    description = {"examples": len(examples), "layers": layers, **what}
    progress_file = folder / "progress.json"
    done = 0
    if progress_file.is_file():
        found = json.loads(progress_file.read_text())
        if found["description"] != description:
            raise UserError(f"{folder} was made for {found['description']}, not {description}: move it away")
        done = found["done"]
    backbone.eval()
    arrays: dict[str, np.ndarray] | None = _open_arrays(folder, "r+") if done else None
    with tqdm(total=len(examples), initial=done, desc=f"features {folder.name}", unit="example", mininterval=2) as bar:
        while done < len(examples):
            batch = [examples[i] for i in range(done, min(done + CHUNK, len(examples)))]
            features = _features_of(batch, backbone, layers)
            if arrays is None:
                arrays = _create_arrays(folder, len(examples), batch, features)
            for name, value in features.items():
                arrays[name][done : done + len(batch)] = value
            arrays["boxes"][done : done + len(batch)] = torch.stack([e["boxes"] for e in batch]).numpy()
            done += len(batch)
            bar.update(len(batch))
            if done % (50 * CHUNK) == 0 or done == len(examples):
                for array in arrays.values():
                    array.flush()
                write_text(progress_file, json.dumps({"description": description, "done": done}))
    return folder


@torch.inference_mode()
def _features_of(batch: list[dict[str, Tensor]], backbone: nn.Module, layers: list[str]) -> dict[str, np.ndarray]:
    images = torch.stack([example["images"] for example in batch])  # (B, frames, 3, H, W)
    flat = normalised(images.flatten(0, 1)).contiguous(memory_format=torch.channels_last)
    maps = [backbone(few, layers) for few in flat.split(FEW)]
    whole = {name: torch.cat([few[name] for few in maps]) for name in layers}
    return {name: whole[name].unflatten(0, images.shape[:2]).contiguous().half().numpy() for name in layers}


def _create_arrays(
    folder: Path, length: int, batch: list[dict[str, Tensor]], features: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    shapes = {name: (value.shape[1:], np.float16) for name, value in features.items()}
    shapes["boxes"] = (tuple(batch[0]["boxes"].shape), np.float32)
    return {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, (length, *shape))
        for name, (shape, dtype) in shapes.items()
    }


def _open_arrays(folder: Path, mode: str) -> dict[str, np.ndarray]:
    files = sorted(folder.glob("*.npy"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no cached features")
    return {file.stem: np.load(file, mmap_mode=mode) for file in files}
