"""Golden folder ``optimizer``: ATOM's Gauss-Newton in filter and projection, and its conjugate gradients."""
from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from pytracking.tracker.atom.conjugate_gradient import CgTrace
from pytracking.tracker.atom.learner import ConjugateGradientLearner, learn_jointly
from pytracking.tracker.atom.objective import JointObjective, project

DTYPES = {"f32": torch.float32, "f64": torch.float64}
UPDATES = {  # Fletcher-Reeves, and whether directions are kept between calls
    "pr": (False, False),
    "fr": (True, False),
    "pr_mom": (False, True),
    "fr_mom": (True, True),
}


class Case:
    """One configuration of the golden file in one precision, with or without the response's activation."""

    def __init__(self, golden: dict, description: dict, config: str, precision: str, activation: str) -> None:
        self.golden, self.description, self.config = golden, description, config
        self.prefix = f"{config}_{precision}_{activation}"
        self.exact, self.dtype = precision == "f64", DTYPES[precision]
        self.slope_length = description["mlu"] if activation == "mlu" else None
        self.x, projection, self.filters, label, self.sw = (
            torch.tensor(golden[f"{config}_in_{name}"], dtype=self.dtype) for name in ("x", "P", "w", "y", "sw")
        )
        self.projection, self.label = projection[:, :, 0, 0], label[:, 0]

    def number(self, name: str) -> np.ndarray:
        return self.golden[f"{self.prefix}_{name}"]

    def joint(self, weights: str) -> JointObjective:
        uniform = torch.full_like(self.sw, 1 / len(self.sw))
        return JointObjective(
            self.x,
            self.label,
            uniform if weights == "uniform" else self.sw,
            self.description["filter_reg"],
            self.description["projection_reg"],
            self.slope_length,
        )

    def check(self, found, name: str, tolerance: float = 1e-10, single: float = 2e-5) -> None:
        expected = self.number(name)
        tolerance = tolerance if self.exact else single
        found = np.asarray(found).reshape(expected.shape)
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=tolerance * np.abs(expected).max(), err_msg=f"{self.prefix}_{name}"
        )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What the set has: configurations, precisions and activations, and of each the kinds of updates."""
    file = Path(metafunc.config.getoption("--golden-family-dir")) / "optimizer" / "atom_cg.npz"
    pattern = r"(\w+?)_(f32|f64)_(\w+?)_" + (r"upd_(\w+?)_filter" if "kind" in metafunc.fixturenames else "joint6x10_P")
    found = [match.groups() for match in (re.fullmatch(pattern, key) for key in np.load(file).files) if match]
    assert found, f"nothing in {file} matches {pattern}"
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize(("case", "kind"), [(parts[:3], parts[3]) for parts in found], indirect=["case"])
    else:
        metafunc.parametrize("case", found, indirect=True, ids="-".join)


@pytest.fixture
def case(request, family_dir) -> Case:
    folder = family_dir / "optimizer"
    golden, description = np.load(folder / "atom_cg.npz"), json.loads((folder / "atom_cg.json").read_text())
    return Case(golden, description, *request.param)


def losses_of(joint: JointObjective, case: Case, count: int, iterations: int) -> tuple:
    """Losses before each Gauss-Newton step and at the end, and the end."""
    filters, projection = case.filters, case.projection
    losses = [float(joint.loss(filters, projection))]
    for _ in range(count):
        filters, projection = learn_jointly(joint, filters, projection, 1, iterations)
        losses.append(float(joint.loss(filters, projection)))
    return losses, filters, projection


@pytest.mark.parametrize("weights", ["uniform", "given"])
def test_joint_learning(case, weights):
    joint, name = case.joint(weights), f"joint_{weights}"
    if weights == "uniform" and case.exact:
        model = joint.linearise(case.filters, case.projection)
        case.check(model.problem.residual(model.scores)[0], f"{name}_residual_data")
        case.check(case.filters * case.description["filter_reg"] ** 0.5, f"{name}_residual_filter")
        case.check(case.projection * case.description["projection_reg"] ** 0.5, f"{name}_residual_proj")
    steps, iterations = 3, 3
    losses, filters, projection = losses_of(joint, case, steps, iterations)
    case.check(losses, f"{name}_losses")
    case.check(filters, f"{name}_filter")
    case.check(projection, f"{name}_P")
    if not case.exact:
        return
    traces, filters, projection = [], case.filters, case.projection
    for step in range(steps):
        case.check(-joint.linearise(filters, projection).gradient(), f"{name}_gn{step}_b")
        filters, projection = learn_jointly(joint, filters, projection, 1, iterations, traces)
        case.check(torch.stack(traces[step].rho), f"{name}_gn{step}_rho")
        case.check(torch.stack(traces[step].curvature), f"{name}_gn{step}_pq")
    case.check(torch.stack(traces[0].solutions), f"{name}_gn0_delta")
    case.check(torch.stack(traces[0].directions), f"{name}_gn0_p")


def test_joint_learning_as_published(case):
    losses, filters, projection = losses_of(case.joint("uniform"), case, 6, 10)
    for found, name in ((losses, "losses"), (filters, "filter"), (projection, "P")):
        case.check(found, f"joint6x10_{name}", 1e-9, 2e-4)


def test_updates(case, kind):
    fletcher_reeves, kept = UPDATES[kind]
    factor = case.description["forget_factor_mom"] if kept else 0.0
    learner = ConjugateGradientLearner(fletcher_reeves=fletcher_reeves, forget_factor=factor)
    *_, filters, projection = losses_of(case.joint("uniform"), case, 3, 3)
    if f"{case.prefix}_projected" in case.golden:
        case.check(project(case.x, projection)[:, :, ::3, ::3], "projected")
    joint, found, losses = case.joint("given"), [], []
    learner.start(filters, torch.Generator())
    for call in range(len(case.number(f"upd_{kind}_filter"))):
        learner.trace = CgTrace()
        problem = joint.with_projection(projection)
        if case.exact:
            case.check(-problem.gradient(filters, problem.scores(filters)), f"upd_{kind}_call{call}_b")
        filters = learner.update(problem, filters, 3)
        losses += [*learner.losses, problem.loss(filters, problem.scores(filters))]
        found.append(filters)
        if case.exact:
            check_call(case, f"upd_{kind}_call{call}", learner.trace)
        joint.label = joint.label.roll(1, 1)
    case.check(torch.stack(found), f"upd_{kind}_filter")
    case.check(torch.cat(losses), f"upd_{kind}_losses")


def check_call(case: Case, name: str, trace: CgTrace) -> None:
    case.check(torch.stack(trace.rho), f"{name}_rho")
    case.check(torch.stack(trace.curvature), f"{name}_pq")
    for found, expected in zip(trace.overlap, case.number(f"{name}_rho2"), strict=True):
        assert (found is None) == bool(np.isnan(expected)), name
        if found is not None:  # nearly orthogonal vectors: relative to what would be there if they were not
            scale = np.abs(case.number(f"{name}_rho")).max()
            np.testing.assert_allclose(float(found), expected, rtol=0, atol=1e-10 * scale, err_msg=name)
    if f"{case.prefix}_{name}_delta" in case.golden:
        case.check(torch.stack(trace.solutions), f"{name}_delta")
