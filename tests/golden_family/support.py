"""Building, reading and comparing what the golden sets of ATOM, PrDiMP and SuperDiMP describe."""
from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch

from ltr.models.bbreg import atom
from ltr.models.tracking import dimpnet


def construct(description: dict) -> torch.nn.Module:
    """The network that a table of ``state_dicts`` describes."""
    module, _, function = description["constructor_function"].rpartition(".")
    home = {"ltr.models.tracking.dimpnet": dimpnet, "ltr.models.bbreg.atom": atom}[module]
    return getattr(home, function)(**description["constructor_kwargs"])


def read_frame(folder: Path, number: int) -> np.ndarray:
    return cv2.cvtColor(cv2.imread(str(folder / "img" / f"{number:04d}.jpg")), cv2.COLOR_BGR2RGB)


def padded(values: torch.Tensor, length: int) -> torch.Tensor:
    """Values of a sample memory's stored places, with zeros for those still free, as the goldens have them."""
    return torch.cat([values.cpu(), values.new_zeros(length - len(values), *values.shape[1:]).cpu()])


def assert_matches(numbers: dict, name: str, tensor: torch.Tensor, tolerance: float = 1e-4) -> None:
    """Compares shape, statistics and a subset; the tolerance is relative to the largest value."""
    values = tensor.detach().double().contiguous().numpy()
    assert values.shape == tuple(numbers[f"{name}_shape"]), name
    flat = values.ravel()
    stats = np.array([flat.mean(), flat.std(), flat.min(), flat.max(), np.abs(flat).sum()])
    expected = numbers[f"{name}_stats"]
    largest = max(abs(expected[2]), abs(expected[3]))
    # the mean of a signed map may nearly cancel, so its error is relative to the spread of what it averages
    scale = np.array([max(abs(expected[0]), expected[1]), expected[1], largest, largest, expected[4]])
    assert np.all(np.abs(stats - expected) <= tolerance * scale), (name, stats, expected)
    subset = flat[:: int(numbers[f"{name}_stride"])]
    np.testing.assert_allclose(subset, numbers[f"{name}_sub"], rtol=0, atol=tolerance * largest, err_msg=name)


def load(family_dir, name):
    return dict(np.load(family_dir / "modules" / f"{name}.npz"))


def numbered(golden: dict, pattern: str) -> list[re.Match]:
    found = [match for match in (re.fullmatch(pattern, key) for key in golden) if match]
    assert found, f"nothing in the golden file matches {pattern}"
    return found


def bare(tracker_class, params):
    """A tracker without a network, for its methods that need none."""
    tracker = tracker_class.__new__(tracker_class)
    tracker.network = SimpleNamespace(engine=None)
    tracker.params = params
    return tracker
