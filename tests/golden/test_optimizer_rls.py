"""RLS-DiMP's learner in its released form, against ``optimizer/rls_*``: filters, losses, virtual inputs and P."""
from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor

from ltr.models.target_classifier import SteepestDescentOptimizer, TargetObjective
from pytracking.tracker.dimp.learner import OnlineLearner, SteepestDescentLearner
from pytracking.tracker.rls_dimp.learner import ReleasedVirtualInput, RLSLearner

# Of optimizer/README.md; P is kept in float16 in "half", everything else there in float32.
DTYPES = {"float64": torch.float64, "float32": torch.float32, "half": torch.float32}
FILTER_TOLERANCE = {"float64": 1e-10, "float32": 5e-6}
P_TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
LOSS_TOLERANCE = {"float64": 1e-9, "float32": 2e-5}  # relative


class Case:
    """The inputs of one golden file, made as optimizer/README.md says."""

    def __init__(self, filler: ModuleType, config: dict, size: str, precision: str) -> None:
        dims = config[size]
        self.filler, self.seed, self.tag = filler, config["seed"], f"rls_{size}"
        self.half, self.dtype = precision == "half", DTYPES[precision]
        self.shape = (dims["N"], dims["C"], dims["H"], dims["H"])
        self.kernel = dims["k"]
        self.scale = 1 / math.sqrt(dims["C"] * dims["k"] ** 2)
        u, side = filler.array(f"{self.tag}_bb", (dims["N"], 4), self.seed), 16 * dims["H"]
        corner, size_wh = 0.4 * side + 0.08 * side * u[:, :2], 0.2 * side * np.exp(0.2 * u[:, 2:])
        self.boxes = self.tensor(np.concatenate([corner, size_wh], axis=1))
        optimizer = SteepestDescentOptimizer(num_dist_bins=100, bin_displacement=0.1, min_filter_reg=1e-3)
        filler.fill_module(optimizer.to(self.dtype), self.seed, "classifier.filter_optimizer.")
        self.optimizer = optimizer.eval().requires_grad_(False)

    def tensor(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=self.dtype)

    def features(self, suffix: str = "") -> Tensor:
        return self.tensor(self.filler.array(f"{self.tag}_feat{suffix}", self.shape, self.seed, scale=self.scale))

    def weights(self, suffix: str = "", zero: int | None = 1) -> Tensor:
        weights = np.abs(self.filler.array(f"{self.tag}_sw{suffix}", (self.shape[0],), self.seed)) + 0.05
        if zero is not None:
            weights[zero] = 0
        return self.tensor(weights / weights.sum())

    def problem(self, features: Tensor, weights: Tensor | None) -> TargetObjective:
        return self.optimizer.objective(features, self.boxes, self.kernel, weights)

    def start(self, num_iter: int, alpha: float) -> tuple[RLSLearner, Tensor, list[float]]:
        """A learner after the initial steepest descent; with the filters and the losses of that."""
        shape = (1, self.shape[1], self.kernel, self.kernel)
        filters = self.tensor(self.filler.array(f"{self.tag}_w0", shape, self.seed, scale=0.3))
        initial = SteepestDescentLearner(self.optimizer)
        filters, losses = update(initial, self.problem(self.features(), None), filters, num_iter)
        learner = RLSLearner(
            alpha,
            delta=0.1,
            beta=1.0,
            block_input=ReleasedVirtualInput(),
            reset_every=100,
            form="dense" if self.half else "factored",
            dtype=torch.float16 if self.half else self.dtype,
        )
        learner.start(filters, torch.Generator())
        return learner, filters, losses


def update(
    learner: OnlineLearner, problem: TargetObjective, filters: Tensor, num_iter: int
) -> tuple[Tensor, list[float]]:
    """One update, and the loss before each recursion and after the last."""
    filters = learner.update(problem, filters, num_iter)
    last = problem.loss(filters, problem.scores(filters))
    return filters, [float(loss) for loss in [*learner.losses, last]]


@pytest.fixture(scope="session")
def config(golden_dir: Path) -> dict:
    return json.loads((golden_dir / "optimizer" / "rls.json").read_text())


def small_files(golden_dir: Path) -> list[tuple[Path, str, float]]:
    found = []
    for path in sorted((golden_dir / "optimizer").glob("rls_small_*_a*.npz")):
        match = re.fullmatch(r"rls_small_(\w+)_a([\d.]+)", path.stem)
        found.append((path, match[1], float(match[2])))
    assert found, f"no rls_small_*.npz in {golden_dir / 'optimizer'}"
    return found


def small_call(case: Case, step: int) -> TargetObjective:
    zero = step % case.shape[0] if step % 2 == 0 else None
    return case.problem(case.features(f"_t{step}"), case.weights(f"_t{step}", zero))


@pytest.mark.parametrize("precision", DTYPES)
def test_optimizer_rls_small(golden_dir: Path, filler: ModuleType, config: dict, precision: str) -> None:
    files = [(path, alpha) for path, kind, alpha in small_files(golden_dir) if kind == precision]
    assert files
    for path, alpha in files:
        golden = np.load(path)
        case = Case(filler, config, "small", precision)
        learner, filters, losses = case.start(len(golden["init_losses"]) - 1, alpha)
        exact = "float32" if case.half else precision  # what the first stage is computed in
        np.testing.assert_allclose(filters, golden["init_weights"], rtol=0, atol=FILTER_TOLERANCE[exact])
        np.testing.assert_allclose(losses, golden["init_losses"], rtol=LOSS_TOLERANCE[exact])
        all_losses = []
        for step, num_iter in enumerate(golden["num_iters"]):
            filters, losses = update(learner, small_call(case, step), filters, int(num_iter))
            all_losses += losses
            expected = golden["weights"][step]
            tolerance = 0.03 * np.abs(expected).max() if case.half else FILTER_TOLERANCE[precision]
            np.testing.assert_allclose(filters, expected, rtol=0, atol=tolerance, err_msg=f"{path.name} call {step}")
            if not case.half:
                check_p(learner.inverse.dense(), golden, step, P_TOLERANCE[precision])
        if not case.half:
            np.testing.assert_allclose(all_losses, golden["losses"], rtol=LOSS_TOLERANCE[precision])
            assert float(learner.inverse.dense().double().norm()) == pytest.approx(float(golden["P_fro"]), rel=1e-6)


def check_p(p: Tensor, golden: np.lib.npyio.NpzFile, step: int, tolerance: float) -> None:
    assert float(p.diagonal().double().sum()) == pytest.approx(float(golden["P_trace"][step]), rel=1e-6)
    np.testing.assert_allclose(p.diagonal()[::7], golden["P_diag_sub7"][step], rtol=0, atol=tolerance)
    np.testing.assert_allclose(p[:12, :12], golden["P_block12"][step], rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_optimizer_rls_virtual_input(golden_dir: Path, filler: ModuleType, config: dict, precision: str) -> None:
    for path, kind, alpha in small_files(golden_dir):
        if kind != precision:
            continue
        golden = np.load(path)
        case = Case(filler, config, "small", precision)
        learner, filters, _ = case.start(len(golden["init_losses"]) - 1, alpha)
        for step, num_iter in enumerate(golden["num_iters"]):
            problem = small_call(case, step)
            scores = problem.scores(filters)
            found = learner.block_input.rows(problem, scores, filters.shape[-1], torch.Generator())
            np.testing.assert_allclose(
                found, golden["virtual_input"][step], rtol=0, atol=FILTER_TOLERANCE[precision], err_msg=path.name
            )
            filters = learner.update(problem, filters, int(num_iter))


def test_optimizer_rls_reset100(golden_dir: Path, filler: ModuleType, config: dict) -> None:
    golden = np.load(golden_dir / "optimizer" / "rls_reset100_float64.npz")
    case = Case(filler, config, "reset", "float64")
    learner, filters, _ = case.start(2, 0.03)
    for call in range(1, config["reset"]["calls"] + 1):
        filters = learner.update(case.problem(case.features(f"_t{call - 1}"), case.weights()), filters, 1)
        p = learner.inverse.dense()
        assert float(p.trace()) == pytest.approx(float(golden["P_trace"][call - 1]), abs=1e-9 * len(p)), call
        assert float(filters.norm()) == pytest.approx(float(golden["w_norm"][call - 1]), abs=1e-9), call
        if f"P_after_{call}" in golden:
            np.testing.assert_allclose(p, golden[f"P_after_{call}"], rtol=0, atol=1e-9)
            np.testing.assert_allclose(filters, golden[f"w_after_{call}"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_optimizer_rls_full(golden_dir: Path, filler: ModuleType, config: dict, precision: str) -> None:
    golden = np.load(golden_dir / "optimizer" / f"rls_full_{precision}.npz")
    case = Case(filler, config, "full", precision)
    learner, filters, losses = case.start(len(golden["init_losses"]) - 1, 0.03)
    tolerance, p_tolerance = FILTER_TOLERANCE[precision], P_TOLERANCE[precision]
    np.testing.assert_allclose(filters.flatten()[::17], golden["init_weights_sub17"], rtol=0, atol=tolerance)
    np.testing.assert_allclose(losses, golden["init_losses"], rtol=LOSS_TOLERANCE[precision])
    for step, num_iter in enumerate(golden["num_iters"]):
        problem = case.problem(case.features(f"_t{step}"), case.weights())
        filters, losses = update(learner, problem, filters, int(num_iter))
        np.testing.assert_allclose(filters.flatten()[::17], golden[f"weights_sub17_t{step}"], rtol=0, atol=tolerance)
        np.testing.assert_allclose(losses, golden[f"losses_t{step}"], rtol=LOSS_TOLERANCE[precision])
        probes = torch.zeros(136, learner.inverse.dim, dtype=case.dtype)  # rows of P, without the whole matrix
        diagonal, block = torch.arange(0, learner.inverse.dim, 64), torch.arange(100, 108)
        picked = torch.cat([diagonal, block])
        rows = learner.inverse.precondition(probes[: len(picked)].scatter_(1, picked[:, None], 1.0))
        found = rows[: len(diagonal)].gather(1, diagonal[:, None]).flatten()
        np.testing.assert_allclose(found, golden[f"P_diag_sub64_t{step}"], rtol=0, atol=p_tolerance)
        np.testing.assert_allclose(rows[len(diagonal) :, 100:108], golden[f"P_block_t{step}"], rtol=0, atol=p_tolerance)
