"""A small network and small frames, so that whole trackers run in a second."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import DiMPNet, dimpnet_mobile

PATCH = 96  # side of the search patch, pixels: features of 6 x 6 cells


@pytest.fixture(scope="session")
def network() -> DiMPNet:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = dimpnet_mobile(
            width=0.35, out_feature_dim=8, iou_input_dim=(8, 8), iou_inter_dim=(8, 8), iou_reference_dim=8
        )
    return prepare_for_inference(network.eval())


@pytest.fixture(scope="session")
def frames() -> list[np.ndarray]:
    """A bright rectangle moving over noise; its box is `box_of(i)`."""
    rng = np.random.default_rng(0)
    background = rng.integers(0, 120, (90, 120, 3), dtype=np.uint8)
    square = rng.integers(150, 255, (20, 24, 3), dtype=np.uint8)
    pictures = []
    for index in range(12):
        x, y, w, h = box_of(index)
        picture = background.copy()
        picture[y : y + h, x : x + w] = square
        pictures.append(picture)
    return pictures


def box_of(index: int) -> list[int]:
    return [40 + index, 30 + index // 2, 24, 20]
