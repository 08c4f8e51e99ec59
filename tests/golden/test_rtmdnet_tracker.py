"""Golden folder ``rtmdnet``: samples, regions, box regression, crops, and the released code's online learning."""
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ltr.overlap import overlap
from pytracking.parameter.rls_rtmdnet import reference
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSHeadLearner
from pytracking.tracker.rtmdnet.box_regressor import BoxRegressor
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.sampling import SampleDistribution, draw_around
from pytracking.tracker.rtmdnet.scene import SceneGeometry, Scenes, regions_in_scenes

LAYERS = ("layers.fc4.0", "layers.fc5.1", "branches.0.1")
SAMPLING_ATOL = 1e-4
WEIGHT_ATOL = {"float32": 2e-5, "float64": 1e-7}
RTOL = {"float32": 1e-3, "float64": 1e-7}
FULL_SCORE_ATOL = 5e-3


@pytest.fixture(scope="module")
def sampling(golden_dir):
    return dict(np.load(golden_dir / "rtmdnet" / "sampling_bbreg.npz"))


@pytest.fixture(scope="module")
def sampling_json(golden_dir):
    return json.loads((golden_dir / "rtmdnet" / "sampling_bbreg.json").read_text())


def test_rtmdnet_mask_regions(sampling):
    samples, target_size = sampling["samples"], sampling["bbox"][2:4]
    scene = Scenes(np.zeros((1, 4)), np.zeros((1, 2), dtype=int), 107 / target_size[None])
    regions = regions_in_scenes(samples, np.zeros(len(samples), dtype=int), scene, SceneGeometry())
    np.testing.assert_allclose(regions[:, 1:], sampling["maskroi"], atol=SAMPLING_ATOL)


def test_rtmdnet_overlap(sampling):
    shifted = sampling["samples"] + np.array([100, 50, 0, 0])
    np.testing.assert_allclose(overlap(shifted, sampling["bbox"]), sampling["overlap"], atol=SAMPLING_ATOL)


def test_rtmdnet_sample_generators(sampling, sampling_json):
    """The random numbers are consumed in the reference's order, so the boxes themselves can be compared."""
    assert sampling_json["generator_cfgs"]
    for number, cfg in enumerate(sampling_json["generator_cfgs"]):
        distribution = SampleDistribution(
            kind=cfg["type"], translation=cfg["trans_f"], scale=cfg["scale_f"],
            aspect=cfg["aspect_f"], inside=cfg["valid"],
        )  # fmt: skip
        samples = draw_around(
            np.random.RandomState(cfg["np_random_seed"]), distribution, sampling["bbox"], cfg["n"],
            tuple(cfg["img_size"][::-1]), overlap_range=cfg["overlap"], area_range=cfg["scale"],
        )  # fmt: skip
        np.testing.assert_allclose(samples, sampling[f"gen{number}"], atol=SAMPLING_ATOL, err_msg=f"gen{number}: {cfg}")


def test_rtmdnet_box_regression(sampling, golden_set, filler):
    examples, target = sampling["bbreg_examples"].astype(np.float64), sampling["bbox"]
    features = np.maximum(filler.array("bbreg_X", (200, 60), golden_set["seed"]), 0)[: len(examples)]
    features = torch.from_numpy(features).float()
    regressor = BoxRegressor(penalty=1000.0, overlap_range=(0.6, 1.0), area_range=(1.0, 2.0))
    regressor.fit(features, examples, target)
    np.testing.assert_allclose(regressor.coefficients.T.numpy(), sampling["bbreg_coef"], atol=1e-4)
    np.testing.assert_allclose(regressor.intercept.numpy(), sampling["bbreg_intercept"], atol=1e-4)
    before = sampling["bbreg_pred_in"].astype(np.float64)
    refined = regressor.refine(features[: len(before)], before, (360, 640))
    np.testing.assert_allclose(refined, sampling["bbreg_pred"], rtol=1e-4, atol=1e-4)


def learning_files(golden_dir: Path) -> list[Path]:
    files = sorted((golden_dir / "rtmdnet").glob("rls_*.npz"))
    assert files, "the set holds no goldens of the online learning"
    return files


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "learning_file" in metafunc.fixturenames:
        files = learning_files(Path(metafunc.config.getoption("--golden-dir")))
        metafunc.parametrize("learning_file", files, ids=lambda file: file.stem)


def test_rtmdnet_online_learning(learning_file, filler):
    """Initial, regular and occasional learning as released, with backups aliased or (``unaliased``) copied."""
    kind, precision = learning_file.stem.split("_")[1], learning_file.stem.split("_")[-1]
    config = json.loads((learning_file.parent / f"rls_{kind}.json").read_text())
    golden = np.load(learning_file)
    learner = build_learner(config, filler, getattr(torch, precision), aliased="unaliased" not in learning_file.stem)
    stages = {"owm_init": learner.learn_initially, "owm": learner.update_regularly, "sgd": learner.update_occasionally}
    for step, (name, iterations) in enumerate(config["steps"]):
        learner.rng = np.random.RandomState(100 + step + config["seed"])
        learner.params.initial_iterations = learner.params.update_iterations = iterations
        positives, negatives = step_samples(config, filler, step, kind, getattr(torch, precision))
        stages[name](SampleSet.whole(positives), SampleSet.whole(negatives))
        recorded = {key.split("_", 1)[1]: golden[key] for key in golden.files if key.startswith(f"step{step}_")}
        fc4, fc5, fc6 = learner.head.layers
        scores = fc6(torch.relu(fc5(torch.relu(fc4(torch.cat([positives[:8], negatives[:8]]))))))
        compare(learner, scores.detach(), recorded, precision, config, kind == "full")


def build_learner(config: dict, filler, dtype: torch.dtype, aliased: bool) -> RLSHeadLearner:
    width = config["dh"]
    shapes = ((width, config["din"]), (width, width), (2, width))
    layers = [nn.Linear(inputs, outputs) for outputs, inputs in shapes]
    for layer, name, (outputs, inputs) in zip(layers, LAYERS, shapes, strict=True):
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
            value = filler.value(f"{name}.{part}", shape, config["seed"]).astype(np.float32)  # rounded: see the README
            getattr(layer, part).data = torch.from_numpy(value).to(dtype)
    params = reference.parameters()
    params.batch_positives, params.batch_negatives = config["batch_pos"], config["batch_neg"]
    params.mined_negatives = config["batch_neg_cand"]
    params.weight_backup = "alias" if aliased else "copy"
    return RLSHeadLearner(ClassifierHead(layers, config["dropout_p"]), params, np.random.RandomState(0))


def step_samples(config: dict, filler, step: int, kind: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    positives = filler.array(f"md{kind}_pos{step}", (config["n_pos"], config["din"]), config["seed"]) + 0.3
    negatives = filler.array(f"md{kind}_neg{step}", (config["n_neg"], config["din"]), config["seed"]) - 0.1
    return tuple(torch.from_numpy(np.maximum(rows, 0)).to(dtype) for rows in (positives, negatives))


def compare(learner: RLSHeadLearner, scores, recorded: dict, precision: str, config: dict, full: bool) -> None:
    rtol, atol = RTOL[precision], WEIGHT_ATOL[precision]
    np.testing.assert_allclose(scores, recorded["scores"], rtol=rtol, atol=FULL_SCORE_ATOL if full else rtol)
    assert int(learner.backup.held) == int(recorded["flag"])
    for number, (layer, name, inverse) in enumerate(
        zip(learner.head.layers, LAYERS, learner.inverses, strict=True), start=4
    ):
        for part in ("weight", "bias"):
            value, wanted = getattr(layer, part).detach().numpy(), recorded[f"{name}.{part}"]
            if value.shape != wanted.shape:
                value = value.ravel()[:: config["weight_subsample_stride"]]
            np.testing.assert_allclose(value, wanted, rtol=rtol if not full else 0, atol=atol, err_msg=f"{name}.{part}")
        check_inverse(inverse.dense().double().numpy(), recorded, number, rtol, full)
        check_backup(learner, recorded, number, rtol, atol)


def check_inverse(inverse: np.ndarray, recorded: dict, number: int, rtol: float, full: bool) -> None:
    """Entries are compared relative to P's size, 1/delta: a strongly excited direction is a difference of such."""
    size = 1 / 5e-4
    diagonal = inverse.diagonal()[::37] if full else inverse.diagonal()
    np.testing.assert_allclose(inverse.trace(), recorded[f"P{number}_trace"], rtol=rtol)
    np.testing.assert_allclose(diagonal, recorded[f"P{number}_diag"], rtol=rtol, atol=rtol * size)
    np.testing.assert_allclose(inverse[-8:, -8:], recorded[f"P{number}_block8"], rtol=rtol, atol=rtol * size)


def check_backup(learner: RLSHeadLearner, recorded: dict, number: int, rtol: float, atol: float) -> None:
    saved = learner.backup.saved
    norm, bias = float(recorded[f"W{number}_norm"]), recorded[f"W{number}_last"]
    if not saved:
        assert norm == 0 and not bias.any()
        return
    weight, last = saved[2 * (number - 4)], saved[2 * (number - 4) + 1]
    np.testing.assert_allclose(np.hypot(float(weight.norm()), float(last.norm())), norm, rtol=rtol)
    np.testing.assert_allclose(last.numpy(), bias, rtol=rtol, atol=atol)
