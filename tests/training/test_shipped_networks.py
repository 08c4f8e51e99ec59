"""The networks in the package, and the tracker's options that one of them asks for."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ltr
from ltr.checkpoint import load_network
from pytracking.evaluation import Tracker
from pytracking.tracker.base import with_recommendations
from pytracking.tracker.dimp.localization import Localizer, parabola_offset
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.dimp.scale_search import best_exponent
from pytracking.tracker.rls_dimp.params import RLSDimpParams

BUNDLED = Path(ltr.__file__).parent / "bundled"


@pytest.mark.parametrize("name", ["dimp_mobile", "rtmdnet_small"])
def test_network_is_small_loads_and_has_a_card(name: str) -> None:
    path = BUNDLED / f"{name}.pth"
    assert path.stat().st_size < 8e6
    network = load_network(path)
    assert all(torch.isfinite(value).all() for value in network.state_dict().values() if value.is_floating_point())
    card = (BUNDLED / f"{name}.md").read_text()
    for topic in ("Data", "Recipe", "Command", "Scores", "Licence"):
        assert f"## {topic}" in card


def test_recommendations_are_parameters_and_are_applied() -> None:
    recommended = load_network(BUNDLED / "dimp_mobile.pth").metadata["tracker"]
    for params in (DimpParams(), RLSDimpParams()):
        applied = with_recommendations(params, recommended)
        assert applied.image_sample_size == 208 and applied.box_refinement_space == "edges"
        assert tuple(applied.refinement_weight) == (0.8, 0.5)
        assert applied.scale_step is None  # the IoU-Net alone gives the size


def test_recursions_that_a_network_asks_for_reach_all_learners_that_are_compared() -> None:
    files = {
        "rls_dimp": ["default", "long_term", "exact"],
        "dimp": ["bgd", "bgd_matched", "bgd_ema_slow", "dimp50_star"],
    }
    recursions = {
        Tracker(name, param, network="dimp_mobile").get_parameters().net_opt_update_iter
        for name, params in files.items()
        for param in params
    }
    assert recursions == {3}
    assert Tracker("dimp", "dimp50", network="dimp_mobile").get_parameters().net_opt_update_iter == 2  # DiMP's own


def moving_square(frames: int) -> tuple[list[np.ndarray], np.ndarray]:
    """A striped square that crosses a field of noise and grows."""
    rng = np.random.default_rng(0)
    background = rng.integers(60, 140, (180, 240, 3), dtype=np.uint8)
    images, boxes = [], []
    for t in range(frames):
        side, x, y = 36 + t, 40 + 4 * t, 60 + 2 * t
        image = background.copy()
        image[y : y + side, x : x + side] = (220, 40, 30)
        image[y : y + side : 6, x : x + side] = (250, 240, 60)
        images.append(image)
        boxes.append([x, y, side, side])
    return images, np.array(boxes, float)


def test_rls_dimp_follows_a_target_on_the_shipped_network_and_repeats_itself() -> None:
    images, boxes = moving_square(12)
    torch.set_num_threads(1)

    def run() -> np.ndarray:
        tracker = Tracker("rls_dimp", "default", network="dimp_mobile").create_tracker({"device": "cpu"})
        tracker.initialize(images[0], {"init_bbox": boxes[0].tolist(), "seed": 3})
        return np.array([tracker.track(image)["target_bbox"] for image in images[1:]])

    found = run()
    low = np.maximum(found[:, :2], boxes[1:, :2])
    high = np.minimum(found[:, :2] + found[:, 2:], boxes[1:, :2] + boxes[1:, 2:])
    intersection = np.clip(high - low, 0, None).prod(axis=1)
    overlap = intersection / (found[:, 2:].prod(axis=1) + boxes[1:, 2:].prod(axis=1) - intersection)
    assert overlap.mean() > 0.6
    assert np.array_equal(found, run())


def test_parabola_finds_the_top_between_cells() -> None:
    y, x = np.mgrid[0:9, 0:9]
    scores = 1 - 0.05 * (y - 4.3) ** 2 - 0.08 * (x - 2.8) ** 2
    assert np.allclose(parabola_offset(scores, np.array([4, 3])), [0.3, -0.2])
    assert np.allclose(parabola_offset(scores, np.array([0, 3])), [0.0, -0.2])  # nothing beyond the border
    flat = np.ones((5, 5))
    assert np.array_equal(parabola_offset(flat, np.array([2, 2])), [0, 0])


def test_interpolation_is_off_by_default_and_moves_the_result_by_parts_of_a_cell() -> None:
    y, x = np.mgrid[0:9, 0:9]
    scores = 1 - 0.1 * ((y - 4.3) ** 2 + (x - 5.0) ** 2)  # a paraboloid, whose top the interpolation finds exactly
    common = {
        "not_found_threshold": 0.1,
        "distractor_threshold": 0.8,
        "hard_negative_threshold": 0.5,
        "displacement_scale": 0.8,
        "neighborhood_scale": 2.2,
    }
    place = (np.full(2, 16.0), np.zeros(2), np.full(2, 40.0))
    plain = Localizer(**common)(scores, *place)
    between = Localizer(**common, interpolate_peak=True)(scores, *place)
    assert plain.translation.tolist() == [0.0, 16.0]
    assert between.translation.tolist() == pytest.approx([0.3 * 16, 16])


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        ((0.5, 0.8, 0.5), 0.0),
        ((0.5, 0.8, 0.7), 0.25),  # top of the parabola: 0.5 * (0.5 - 0.7) / (0.5 - 1.6 + 0.7)
        ((0.2, 0.5, 0.9), 1.0),
        ((-0.2, -0.5, -0.1), 0.0),
        ((float("nan"), 0.5, 0.2), 0.0),
    ],
)
def test_best_exponent(peaks: tuple[float, float, float], expected: float) -> None:
    assert best_exponent(peaks) == pytest.approx(expected)
