"""The tracker's parts without a network, against ``modules/``: windows, patches, augmentation, localisation, memory."""
from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from pytracking.features import augmentation as aug
from pytracking.features.crop import CONVENTIONS, sample_patch
from pytracking.features.windows import hann2d, hann2d_clipped
from pytracking.tracker.dimp.localization import Localizer, find_peak
from pytracking.tracker.dimp.sample_memory import SampleMemory
from tests.golden_family.support import padded

THRESHOLDS = {  # of the two settings that modules/README.md names
    "default": {"not_found": 0.25, "distractor": 0.8, "hard_negative": 0.5, "displacement": 0.8},
    "vot": {"not_found": 0.0, "distractor": 100.0, "hard_negative": 0.45, "displacement": 0.7},
}

convention = pytest.mark.parametrize("convention", CONVENTIONS)


def load(golden_dir: Path, name: str) -> np.lib.npyio.NpzFile:
    return np.load(golden_dir / "modules" / f"{name}.npz")


def numbered(golden: np.lib.npyio.NpzFile, pattern: str) -> list[int]:
    """The indices i for which a key like ``c<i>_pos`` exists."""
    indices = sorted(int(m[1]) for m in (re.fullmatch(pattern, key) for key in golden.files) if m)
    assert indices, f"nothing in the golden file matches {pattern}"
    return indices


@pytest.fixture(scope="session")
def frame(golden_set: dict, sequences_dir: Path) -> np.ndarray:
    path = sequences_dir / "OTB" / "DragonBaby" / "img" / golden_set["dragonbaby_frame"]
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)


@convention
def test_modules_windows(golden_dir: Path, convention: str) -> None:
    golden = load(golden_dir, f"windows_{convention}")
    names = [name for name in golden.files if name.startswith("hann2d")]
    assert names
    for name in names:
        *_, centering, size_text = name.split("_")
        size = tuple(int(n) for n in size_text.split("x"))
        if "clipped" in name:
            window = hann2d_clipped(size, tuple(int(0.7 * n) for n in size))
        else:
            window = hann2d(size, centered=centering == "c", convention=convention)
        np.testing.assert_allclose(window, golden[name], atol=1e-6, err_msg=name)


@convention
def test_modules_max2d(golden_dir: Path, convention: str) -> None:
    golden = load(golden_dir, f"windows_{convention}")
    for scores, value, cell in zip(golden["max2d_in"], golden["max2d_val"], golden["max2d_arg"], strict=True):
        peak = find_peak(scores)
        assert peak.score == pytest.approx(float(value), abs=1e-6)
        np.testing.assert_array_equal(peak.cell, cell)


@convention
def test_modules_patches(golden_dir: Path, frame: np.ndarray, convention: str) -> None:
    golden = load(golden_dir, f"patches_{convention}")
    for i in numbered(golden, r"c(\d+)_pos"):
        out = int(golden[f"c{i}_out"])
        patch, crop = sample_patch(
            frame, golden[f"c{i}_pos"], float(golden[f"c{i}_scale"]), (out, out), convention=convention
        )
        np.testing.assert_allclose(crop.corners, golden[f"c{i}_coord"][0], atol=1e-4)
        np.testing.assert_allclose(patch[0, :, ::9, ::9], golden[f"c{i}_patch_sub"], atol=1e-3)
        np.testing.assert_allclose(statistics(patch), golden[f"c{i}_stats"], rtol=1e-4, atol=1e-4)


@convention
@pytest.mark.parametrize("border", ["inside", "inside_major"])
def test_modules_patches_inside(golden_dir: Path, frame: np.ndarray, convention: str, border: str) -> None:
    golden = load(golden_dir, f"patches_{convention}")
    if f"{border}0_coord" not in golden:
        pytest.skip(f"the released code ({convention}) has no border mode {border}")
    for i in numbered(golden, rf"{border}(\d+)_coord"):
        out = int(golden[f"c{i}_out"])
        patch, crop = sample_patch(
            frame,
            golden[f"c{i}_pos"],
            float(golden[f"c{i}_scale"]),
            (out, out),
            convention=convention,
            border=border,
            max_scale_change=1.5 if convention == "new" else None,
        )
        np.testing.assert_allclose(crop.corners, golden[f"{border}{i}_coord"][0], atol=1e-4)
        np.testing.assert_allclose(patch[0, :, ::9, ::9], golden[f"{border}{i}_patch_sub"], atol=1e-3)


@convention
def test_modules_augmentation(golden_dir: Path, golden_set: dict, frame: np.ndarray, convention: str) -> None:
    golden = load(golden_dir, f"patches_{convention}")
    size = golden_set["S"]
    wide, _ = sample_patch(frame, golden["c0_pos"], 0.9, (2 * size, 2 * size), convention=convention)
    for name, expected, stats in zip(golden["aug_names"], golden["aug_sub"], golden["aug_stats"], strict=True):
        patch = parse_augmentation(str(name), size)(wide, (size, size))
        tolerance = 1e-2 if name.startswith(("blur", "rotate")) else 1e-3
        np.testing.assert_allclose(patch[0, :, ::11, ::11], expected, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(statistics(patch), stats, rtol=1e-4, atol=1e-4, err_msg=name)


@convention
@pytest.mark.parametrize("setting", THRESHOLDS)
def test_modules_localize(golden_dir: Path, convention: str, setting: str) -> None:
    golden = load(golden_dir, f"localize_{convention}")
    thresholds = THRESHOLDS[setting]
    sample_pos, target_size = np.array([117.5, 186.5]), np.array([65.0, 56.0])
    for i in numbered(golden, r"(\d+)_score"):
        scores = golden[f"{i}_score"]
        localize = Localizer(
            not_found_threshold=thresholds["not_found"],
            distractor_threshold=thresholds["distractor"],
            hard_negative_threshold=thresholds["hard_negative"],
            displacement_scale=thresholds["displacement"],
            neighborhood_scale=2.2,
            displacement_origin=convention,
            window=hann2d(scores.shape, convention=convention)[0, 0].numpy() if setting == "vot" else None,
            second_peak_without_window=setting == "vot",
        )
        cell_size = np.full(2, 16 * 1.05)  # stride times frame pixels per patch pixel
        for suffix, pos in {"": np.array([115.0, 188.0]), "_posoff": sample_pos + [70, -110]}.items():
            found = localize(scores, cell_size, pos - sample_pos, target_size)
            key = f"{i}_{setting}{suffix}"
            assert found.flag == golden[f"{key}_flag"], key
            np.testing.assert_allclose(found.translation, golden[f"{key}_translation"], atol=1e-3, err_msg=key)
            if not suffix:
                assert found.max_score == pytest.approx(float(golden[f"{key}_scores_out_max"]), abs=1e-6)


@convention
def test_modules_memory(golden_dir: Path, convention: str) -> None:
    golden = load(golden_dir, f"memory_{convention}")
    for i in numbered(golden, r"mem(\d+)_cfg"):
        config = json.loads(str(golden[f"mem{i}_cfg"]))
        memory = SampleMemory(
            torch.zeros(config["num_init"], 1, 1, 1),
            torch.zeros(config["num_init"], 4),
            size=config["memory"],
            learning_rate=config["default_lr"],
            init_samples_minimum_weight=config["init_samples_minimum_weight"],
        )
        for step, learning_rate in enumerate(config["learning_rates"]):
            index = memory.add(torch.zeros(1, 1, 1, 1), torch.zeros(4), learning_rate)
            assert index == golden[f"mem{i}_replace"][step]
            np.testing.assert_allclose(padded(memory.weights, memory.size), golden[f"mem{i}_weights"][step], atol=1e-6)


def statistics(patch: torch.Tensor) -> list[float]:
    values = patch.double()
    return [
        values.mean().item(),
        values.std(correction=0).item(),
        values.min().item(),
        values.max().item(),
        values.abs().sum().item(),
    ]


def parse_augmentation(name: str, size: int) -> aug.Augmentation:
    """Builds what a golden name such as ``blur(3,1) shift(5,2)`` or ``translation(+.3S,-.3S)`` says."""
    shift_text = re.search(r"shift\(([-+\d]+),([-+\d]+)\)", name)
    shift = (int(shift_text[1]), int(shift_text[2])) if shift_text else (0, 0)
    number = r"[-+]?\d*\.?\d+"
    if match := re.match(rf"translation\(({number})S,({number})S\)", name):
        return aug.Augmentation(aug.identity, (int(float(match[1]) * size), int(float(match[2]) * size)))
    if match := re.match(rf"blur\(({number}),({number})\)", name):
        return aug.Augmentation(aug.blur((float(match[1]), float(match[2]))), shift)
    if match := re.match(rf"(scale|rotate)({number})", name):
        return aug.Augmentation({"scale": aug.rescale, "rotate": aug.rotate}[match[1]](float(match[2])), shift)
    plain = {"identity": aug.identity, "fliplr": aug.flip_horizontal, "flipud": aug.flip_vertical}
    return aug.Augmentation(plain[name.split()[0]], shift)
