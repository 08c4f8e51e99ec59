"""Trackers of the PrDiMP, SuperDiMP and ATOM families, with their RLS versions, on the bundled network."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

from ltr.models.target_classifier import DensityOptimizer
from pytracking.evaluation.networks import FallbackWeightsWarning
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.dimp.params import AugmentationParams

FEW = AugmentationParams(relative_shifts=((0.6, 0.6), (-0.6, -0.6)), blurs=(), rotations=(), dropout_copies=1)
FAMILIES = {
    "prdimp": (
        "dimp/prdimp50",
        "dimp/prdimp50_bgd",
        "dimp/prdimp50_bgd_matched",
        "rls_dimp/prdimp50",
        "rls_dimp/prdimp50_exact",
    ),
    "super_dimp": (
        "dimp/super_dimp",
        "dimp/super_dimp_bgd",
        "dimp/super_dimp_bgd_matched",
        "rls_dimp/super_dimp",
        "rls_dimp/super_dimp_exact",
    ),
    "atom": ("atom/default", "atom/bgd", "atom/bgd_matched", "rls_atom/default", "rls_atom/exact"),
    "others": ("dimp/prdimp18", "dimp/prdimp50_vot18", "dimp/super_dimp_simple", "atom/default_vot"),
}


def track(name: str, frames: list[np.ndarray], **overrides) -> tuple[object, list[dict]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWeightsWarning)
        handle = Tracker(*name.split("/"), network="dimp_mobile")
        changes = {"device": "cpu", "augmentation": FEW, "sample_memory_size": 12, "train_skipping": 2} | overrides
        tracker = handle.create_tracker(changes)
    tracker.initialize(frames[0], {"init_bbox": [40, 30, 24, 20]})
    return tracker, [tracker.track(frame) for frame in frames[1:5]]


@pytest.mark.parametrize("name", [name for names in FAMILIES.values() for name in names])
def test_tracks_on_the_bundled_network(frames: list[np.ndarray], name: str) -> None:
    tracker, outputs = track(name, frames)
    for index, output in enumerate(outputs, start=1):
        x, y, w, h = output["target_bbox"]
        centre = np.array([x + w / 2, y + h / 2]) - [40 + index + 12, 30 + index // 2 + 10]
        assert np.abs(centre).max() < 8, (index, output["target_bbox"], output["flag"])
    assert any(output["learner"]["updated"] for output in outputs)
    assert outputs[-1]["learner"]["rejected"] == 0
    assert (outputs[-1]["learner"]["nbytes"] > 0) == name.startswith("rls_")
    if "prdimp" in name:
        assert isinstance(tracker.network.classifier.filter_optimizer, DensityOptimizer)


def test_probabilities_sum_to_one(frames: list[np.ndarray]) -> None:
    _, outputs = track("dimp/prdimp50", frames, output_score_map=True)
    assert all(float(output["score_map"].sum()) == pytest.approx(1, abs=1e-4) for output in outputs)


def test_atom_score_map_has_the_patch_size(frames: list[np.ndarray]) -> None:
    tracker, outputs = track("atom/default", frames, output_score_map=True, image_sample_size=160)
    assert outputs[0]["score_map"].shape == tuple(tracker.patch_size) == (160, 160)


def test_an_unknown_objective_is_refused(frames: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="density"):
        track("dimp/prdimp50", frames, objective="hinge")
