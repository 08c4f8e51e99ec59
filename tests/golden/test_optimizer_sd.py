"""Golden folder ``optimizer``: steepest descent with Gauss-Newton steps, and the maps of its objective."""
import json

import numpy as np
import pytest
import torch

from ltr.models.target_classifier import OptimizerTrace, SteepestDescentOptimizer
from ltr.models.target_classifier.objective import centre_distance, interpolate_bins

DTYPES = {"f32": torch.float32, "f64": torch.float64}


@pytest.fixture(scope="module")
def golden(golden_dir):
    folder = golden_dir / "optimizer"
    return dict(np.load(folder / "sd_gn.npz")), json.loads((folder / "sd_gn.json").read_text())


def make_inputs(filler, config: dict, tag: str, seed: int) -> dict[str, np.ndarray]:
    count, channels, height, kernel = (config[key] for key in ("N", "C", "H", "k"))
    scale = (channels * kernel**2) ** -0.5
    features = filler.array(tag + "_feat", (count, channels, height, height), seed, scale=scale)
    filters = filler.array(tag + "_w0", (1, channels, kernel, kernel), seed, scale=0.3)
    u, image = filler.array(tag + "_bb", (count, 4), seed), 16 * height
    boxes = np.stack(
        [0.4 * image + 0.08 * image * u[:, 0], 0.4 * image + 0.08 * image * u[:, 1]]
        + [0.2 * image * np.exp(0.2 * u[:, i]) for i in (2, 3)],
        1,
    )
    weight = np.abs(filler.array(tag + "_sw", (count,), seed)) + 0.05
    weight[1] = 0
    return {"features": features, "filters": filters, "boxes": boxes, "weight": weight / weight.sum()}


def optimizer_of(filler, seed: int, dtype: torch.dtype) -> SteepestDescentOptimizer:
    module = SteepestDescentOptimizer(num_dist_bins=100, bin_displacement=0.1, min_filter_reg=1e-3).to(dtype)
    return filler.fill_module(module, seed, prefix="classifier.filter_optimizer.").eval()


def configurations(numbers: dict, description: dict) -> list[str]:
    names = [name for name, value in description.items() if isinstance(value, dict)]
    assert names and all(f"{name}_f64_none_weights" in numbers for name in names)
    return names


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("weighting", ["none", "given"])
def test_optimizer_steepest_descent(golden, filler, precision, weighting):
    numbers, description = golden
    dtype = DTYPES[precision]
    for name in configurations(numbers, description):
        inputs = make_inputs(filler, description[name], f"opt_{name}", description["seed"])
        if f"{name}_in_feat" in numbers:
            np.testing.assert_allclose(inputs["features"], numbers[f"{name}_in_feat"], atol=1e-12)
        tensors = {key: torch.tensor(value, dtype=dtype) for key, value in inputs.items()}
        trace = OptimizerTrace()
        losses = numbers[f"{name}_{precision}_{weighting}_losses"]
        with torch.inference_mode():
            filters = optimizer_of(filler, description["seed"], dtype)(
                tensors["filters"],
                tensors["features"],
                tensors["boxes"],
                tensors["weight"] if weighting == "given" else None,
                num_iter=len(losses) - 1,
                trace=trace,
            )
        expected = numbers[f"{name}_{precision}_{weighting}_weights"]
        stride = -(-filters.numel() // expected.size)
        found = filters.flatten().double().numpy()[::stride]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 if precision == "f64" else 5e-6, err_msg=name)
        relative = 1e-9 if precision == "f64" else 2e-5
        np.testing.assert_allclose(torch.cat(trace.losses).double().numpy(), losses, rtol=relative, err_msg=name)
        norms = [float(w.norm()) for w in trace.filters]
        np.testing.assert_allclose(norms, numbers[f"{name}_{precision}_{weighting}_iter_norms"], rtol=relative)


def test_optimizer_maps(golden, filler):
    numbers, description = golden
    for name in configurations(numbers, description):
        if f"{name}_label" not in numbers:
            continue
        config = description[name]
        module = optimizer_of(filler, description["seed"], torch.float64)
        boxes = torch.tensor(numbers[f"{name}_in_bb"])[None]
        size = numbers[f"{name}_label"].shape[1:]
        with torch.inference_mode():
            maps = module.maps(boxes, size, config["k"])
            distance = centre_distance(boxes, size, config["k"], 16)[0]
            channels = interpolate_bins(torch.eye(100, dtype=torch.float64), distance / 0.1).transpose(0, 1)
        for field, key in (("label", "label"), ("mask", "mask"), ("spatial_weight", "spatial")):
            found = getattr(maps, field)[0].numpy()
            np.testing.assert_allclose(found, numbers[f"{name}_{key}"], rtol=0, atol=1e-9, err_msg=f"{name} {key}")
        sub = channels[:2, :, ::3, ::3].numpy()
        np.testing.assert_allclose(sub, numbers[f"{name}_distmap_sub"], rtol=0, atol=1e-6)
