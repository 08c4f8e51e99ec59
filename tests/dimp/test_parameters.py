"""The parameter files agree with the paper, DiMP's authors and the released code."""
from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields

import pytest

from pytracking.tracker.base import with_recommendations
from pytracking.tracker.dimp.params import FEW_SAMPLES, MANY_ROTATIONS, DimpParams
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def load(name: str) -> DimpParams:
    return importlib.import_module(f"pytracking.parameter.{name}").parameters()


def names(package: str) -> list[str]:
    module = importlib.import_module(f"pytracking.parameter.{package}")
    return [f"{package}.{each.name}" for each in pkgutil.iter_modules(module.__path__)]


@pytest.mark.parametrize("name", [name for each in ("dimp", "rls_dimp", "atom", "rls_atom") for name in names(each)])
def test_every_file_loads_and_has_a_docstring(name: str) -> None:
    module = importlib.import_module(f"pytracking.parameter.{name}")
    params = module.parameters()
    assert isinstance(params, RLSDimpParams if name.startswith("rls_") else DimpParams)
    assert params.weights.endswith((".pth", ".pth.tar")) and params.fallback_weights
    assert module.__doc__
    assert module.parameters() == params and module.parameters() is not params


# The table of DIMP's hyper-parameters: columns (patch, area, memory, rate, minimum, skip, init, update, hard negative).
COLUMNS = (
    "image_sample_size", "search_area_scale", "sample_memory_size", "learning_rate", "init_samples_minimum_weight",
    "train_skipping", "net_opt_iter", "net_opt_update_iter", "net_opt_hn_iter", "window_output",
    "target_not_found_threshold", "distractor_threshold", "hard_negative_threshold", "displacement_scale",
    "perform_hn_without_windowing", "iounet_k", "num_init_random_boxes", "box_refinement_iter",
    "augmentation_expansion_factor",
)  # fmt: skip
TABLE = {
    "dimp.dimp18": (288, 5, 50, 0.01, 0.25, 20, 10, 2, 1, False, 0.25, 0.8, 0.5, 0.8, False, 3, 9, 5, 2),
    "dimp.dimp50": (288, 5, 50, 0.01, 0.25, 20, 10, 2, 1, False, 0.25, 0.8, 0.5, 0.8, False, 3, 9, 5, 2),
    "dimp.dimp50_vot18": (224, 4, 250, 0.0075, 0, 10, 25, 3, 3, True, 0, 100, 0.45, 0.7, True, 3, 9, 5, 2),
    "dimp.dimp50_vot19": (256, 4.5, 100, 0.0075, 0, 10, 15, 2, 2, True, 0, 100, 0.45, 0.7, True, 3, 9, 3, 1.4),
    "rls_dimp.reference": (288, 5, 50, 0.01, 0.25, 20, 10, 5, 1, False, 0.25, 0.8, 0.5, 0.8, False, 1, 0, 5, 2),
    "rls_dimp.reference_vot18": (224, 4, 250, 0.0075, 0, 10, 25, 5, 3, True, 0, 100, 0.45, 0.7, True, 1, 0, 5, 2),
    "rls_dimp.reference_vot19": (256, 4.5, 100, 0.0075, 0, 10, 25, 5, 3, True, 0, 100, 0.45, 0.7, True, 1, 0, 3, 1.4),
}


@pytest.mark.parametrize("name", TABLE)
def test_published_values(name: str) -> None:
    params = load(name)
    found = {column: getattr(params, column) for column in COLUMNS}
    assert found == dict(zip(COLUMNS, TABLE[name], strict=True))


@pytest.mark.parametrize(
    ("rls", "bgd", "matched"),
    [
        ("rls_dimp.default", "dimp.bgd", "dimp.bgd_matched"),
        ("rls_dimp.prdimp50", "dimp.prdimp50_bgd", "dimp.prdimp50_bgd_matched"),
        ("rls_dimp.super_dimp", "dimp.super_dimp_bgd", "dimp.super_dimp_bgd_matched"),
        ("rls_atom.default", "atom.bgd", "atom.bgd_matched"),
    ],
)
def test_controls_differ_only_in_the_learner(rls: str, bgd: str, matched: str) -> None:
    """RLS's first step is its rate over delta; the matched control's step is as long, plain descent's a tenth of it."""
    improved, plain, control = (load(name) for name in (rls, bgd, matched))
    first_step = improved.step_length / improved.delta
    assert control.step_length * control.step_factor == pytest.approx(first_step)
    assert plain.step_length * plain.step_factor == pytest.approx(first_step / 10)
    own = {"learner", "step_length", "step_factor", "provenance"}
    common = {each.name for each in fields(plain)} - own
    assert {name: getattr(plain, name) for name in common} == {name: getattr(improved, name) for name in common}
    assert {name: getattr(plain, name) for name in common} == {name: getattr(control, name) for name in common}


def test_augmentations_of_vot() -> None:
    assert load("dimp.dimp50_vot18").augmentation == MANY_ROTATIONS
    assert load("rls_dimp.reference_vot19").augmentation == FEW_SAMPLES


def test_the_papers_learners() -> None:
    default = load("rls_dimp.default")
    assert (default.delta, default.beta, default.net_opt_update_iter, default.step_length) == (0.1, 1.0, 5, 3e-2)
    assert (default.train_skipping, default.reset_every, default.block_input) == (20, None, "virtual")
    assert load("rls_dimp.long_term").step_length == load("rls_dimp.oxuva").step_length == 3e-3
    assert load("dimp.dimp50_star").net_opt_update_iter == 5
    assert {name: load(f"dimp.bgd_ema_{name}").ema_alpha for name in ("slow", "moderate", "fast")} == {
        "slow": 0.01, "moderate": 0.5, "fast": 0.99
    }  # fmt: skip


@pytest.mark.parametrize(("rls", "bgd"), [("default", "bgd"), ("long_term", "bgd_long_term"), ("vot18", "bgd_vot18"),
                                          ("vot19", "bgd_vot19")])  # fmt: skip
def test_bgd_differs_from_rls_only_in_the_learner(rls: str, bgd: str) -> None:
    one, other = load(f"rls_dimp.{rls}"), load(f"dimp.{bgd}")
    fields = [name for name in DimpParams.__dataclass_fields__ if name not in ("learner", "provenance")]
    assert {name: getattr(one, name) for name in fields} == {name: getattr(other, name) for name in fields}
    stated = set(other.provenance) - {"learner"}
    assert set(one.provenance) == stated, "a network's recommendation must reach both or none"


@pytest.mark.parametrize(
    ("name", "frames"),
    [("rls_dimp.default", 20), ("dimp.bgd", 20), ("dimp.default", 20), ("dimp.dimp50_vot18", 0), ("rls_dimp.vot19", 0),
     ("rls_dimp.prdimp50", 0), ("dimp.super_dimp_bgd", 0), ("atom.default", 0)],
)  # fmt: skip
def test_early_frames_are_not_recommended_to_files_with_their_own_schedule(name: str, frames: int) -> None:
    assert with_recommendations(load(name), {"early_frames": 20}).early_frames == frames
