"""Golden folder ``optimizer``: PrDiMP's Newton steps, SuperDiMP-simple's hinge."""
from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from ltr.models.target_classifier import DensityOptimizer, HingeOptimizer, OptimizerTrace, TargetObjective

DTYPES = {"f32": torch.float32, "f64": torch.float64}
PREFIX = "classifier.filter_optimizer."
weighting = pytest.mark.parametrize("weighting", ["none", "given"])
precision = pytest.mark.parametrize("precision", DTYPES)


def load(family_dir, name):
    folder = family_dir / "optimizer"
    return dict(np.load(folder / f"{name}.npz")), json.loads((folder / f"{name}.json").read_text())


def make_inputs(filler, config: dict, tag: str, seed: int, scale: float = 0.3) -> dict[str, np.ndarray]:
    count, channels, height, kernel = (config[key] for key in ("N", "C", "H", "k"))
    shape = (count, channels, height, height)
    weight = np.abs(filler.array(tag + "_sw", (count,), seed)) + 0.05
    weight[1] = 0
    u, image = filler.array(tag + "_bb", (count, 4), seed), 16 * height
    corner, size = 0.4 * image + 0.08 * image * u[:, :2], 0.2 * image * np.exp(0.2 * u[:, 2:])
    return {
        "features": filler.array(tag + "_feat", shape, seed, scale=(channels * kernel**2) ** -0.5),
        "filters": filler.array(tag + "_w0", (1, channels, kernel, kernel), seed, scale=scale),
        "boxes": np.concatenate([corner, size], 1),
        "weight": weight / weight.sum(),
    }


def density_optimizer(filler, description: dict, variant: dict, dtype: torch.dtype) -> DensityOptimizer:
    options = description["module"] | variant
    renamed = {"feat_stride": "feature_stride", "init_uni_weight": "uni_weight"}
    own = {renamed.get(k, k): v for k, v in options.items() if k not in ("w0_scale", "filter_reg")}
    module = filler.fill_module(DensityOptimizer(**own).to(dtype), description["seed"], prefix=PREFIX).eval()
    if "filter_reg" in variant:
        module.filter_reg.data.fill_(variant["filter_reg"])
    return module.requires_grad_(False)


def density_cases(numbers: dict, description: dict) -> list[tuple[str, str]]:
    """Configurations and variants that the file has numbers of."""
    configs = [name for name, value in description.items() if isinstance(value, dict) and "C" in value]
    found = [(c, v) for c in configs for v in description["variants"] if f"{c}_{v}_f64_none_weights" in numbers]
    assert found and {config for config, _ in found} == set(configs)
    return found


def tensors(inputs: dict, dtype: torch.dtype, given: bool) -> tuple:
    names = ("filters", "features", "boxes", "weight")
    *others, weight = (torch.tensor(inputs[name], dtype=dtype) for name in names)
    return *others, weight if given else None


@weighting
@precision
def test_density_optimizer(family_dir, filler, precision, weighting):
    numbers, description = load(family_dir, "prdimp")
    for config, name in density_cases(numbers, description):
        variant = description["variants"][name]
        inputs = make_inputs(
            filler, description[config], f"pr_{config}", description["seed"], variant.get("w0_scale", 0.3)
        )
        if f"{config}_in_feat" in numbers:
            np.testing.assert_allclose(inputs["features"], numbers[f"{config}_in_feat"], atol=1e-12)
        np.testing.assert_allclose(inputs["boxes"], numbers[f"{config}_in_bb"], atol=1e-9)
        np.testing.assert_allclose(inputs["weight"], numbers[f"{config}_in_sw"], atol=1e-12)
        module = density_optimizer(filler, description, variant, DTYPES[precision])
        key, trace = f"{config}_{name}_{precision}_{weighting}", OptimizerTrace()
        losses = numbers[f"{key}_losses"]
        arguments = tensors(inputs, DTYPES[precision], weighting == "given")
        filters = module(*arguments, num_iter=len(losses) - 1, trace=trace)
        check(filters, numbers[f"{key}_weights"], 1e-10 if precision == "f64" else 5e-6, key)
        relative = 1e-10 if precision == "f64" else 2e-6
        np.testing.assert_allclose(torch.cat(trace.losses).double(), losses, rtol=relative, err_msg=key)
        norms = [float(w.norm()) for w in trace.filters]
        np.testing.assert_allclose(norms, numbers[f"{key}_iter_norms"], rtol=relative if precision == "f64" else 5e-6)
        for step, expected in enumerate(numbers.get(f"{key}_iterates", ()), start=1):
            check(trace.filters[step], expected, 1e-10, key)


def check(filters: torch.Tensor, expected: np.ndarray, tolerance: float, key: str) -> None:
    """Compares filters with all or with every n-th of the expected weights, relative to the largest."""
    stride = -(-filters.numel() // expected.size)
    found = filters.flatten().double().numpy()[::stride]
    np.testing.assert_allclose(
        found, expected.ravel(), rtol=0, atol=tolerance * np.abs(expected).max(), err_msg=key
    )


def test_density_labels(family_dir, filler):
    numbers, description = load(family_dir, "prdimp")
    compared = 0
    for config, name in density_cases(numbers, description):
        if f"{config}_{name}_label" not in numbers:
            continue
        expected = numbers[f"{config}_{name}_label"]
        module = density_optimizer(filler, description, description["variants"][name], torch.float64)
        boxes = torch.tensor(numbers[f"{config}_in_bb"])[None, : len(expected)]
        found = module.label(boxes, expected.shape[1:], description[config]["k"])[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * expected.max(), err_msg=f"{config} {name}")
        compared += 1
    assert compared


@weighting
def test_density_optimizer_of_several_sequences(family_dir, filler, weighting):
    numbers, description = load(family_dir, "prdimp")
    config, seed = description["odd"], description["seed"]
    count, channels, height, kernel = (config[key] for key in ("N", "C", "H", "k"))
    scale = (channels * kernel**2) ** -0.5
    features = filler.array("pr_seq_feat", (count, 2, channels, height, height), seed, scale=scale)
    filters = filler.array("pr_seq_w0", (2, channels, kernel, kernel), seed, scale=0.3)
    each = [make_inputs(filler, config, f"pr_seq{i}", seed) for i in (0, 1)]
    boxes, weight = (torch.tensor(np.stack([inputs[key] for inputs in each])) for key in ("boxes", "weight"))
    trace, key = OptimizerTrace(), f"seq_f64_{weighting}"
    found = density_optimizer(filler, description, {}, torch.float64)(
        torch.tensor(filters),
        torch.tensor(features).transpose(0, 1),
        boxes,
        weight if weighting == "given" else None,
        num_iter=len(numbers[f"{key}_losses"]) - 1,
        trace=trace,
    )
    check(found, numbers[f"{key}_weights"], 1e-10, key)
    losses = [float(values.mean()) for values in trace.losses]
    np.testing.assert_allclose(losses, numbers[f"{key}_losses"], rtol=1e-10)


@weighting
@precision
def test_hinge_optimizer(family_dir, filler, precision, weighting):
    numbers, description = load(family_dir, "hinge_sd")
    dtype, tolerance = DTYPES[precision], 1e-7 if precision == "f64" else 2e-5
    inputs = make_inputs(filler, description["small"], "hinge_small", description["seed"])
    filters, features, _, weight = tensors(inputs, dtype, given=True)
    module = HingeOptimizer(
        hinge_threshold=description["hinge_threshold"], activation_leak=description["activation_leak"]
    ).to(dtype)
    module = filler.fill_module(module, description["seed"], prefix=PREFIX).requires_grad_(False)
    if weighting == "none":
        weight = torch.full_like(weight, 1 / len(weight))
    else:
        np.testing.assert_allclose(inputs["weight"], numbers["in_sw"], atol=1e-12)
    maps = module.maps(torch.tensor(numbers["in_label"], dtype=dtype).transpose(0, 1))
    regularisation = module.residual_module.filter_reg.square()
    problem = TargetObjective(features[None], maps, weight.view(1, -1, 1, 1).sqrt(), regularisation)
    count, key = maps.label.numel() + filters.numel(), f"{precision}_{weighting}"
    scores, losses, norms = problem.scores(filters), [], [float(filters.norm())]
    for _ in range(description["num_iter"]):
        losses.append(float(problem.loss(filters, scores)) / count)
        filters, scores = module.step(problem, filters, scores)
        norms.append(float(filters.norm()))
    losses.append(float(problem.loss(filters, scores)) / count)
    check(filters, numbers[f"{key}_weights"], tolerance, key)
    np.testing.assert_allclose(losses, numbers[f"{key}_losses"], rtol=tolerance)
    np.testing.assert_allclose(norms, numbers[f"{key}_iter_norms"], rtol=tolerance)
