"""Golden folder ``prroi``: precise RoI pooling against an exact integration in numpy."""
import numpy as np
import pytest
import torch

from tests.ltr_models.rois import precise_roi_pool


@pytest.fixture
def prroi_cases(golden_dir):
    files = sorted((golden_dir / "prroi").glob("*.npz"))
    assert files, f"no prroi/*.npz in {golden_dir}"
    return [(file.name, dict(np.load(file))) for file in files]


def run_case(case: dict, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    features = torch.tensor(case["features"], dtype=dtype, requires_grad=True)
    rois = torch.tensor(case["rois"], dtype=dtype, requires_grad=True)
    bins = int(case["pooled_height"]), int(case["pooled_width"])
    output = precise_roi_pool(features, rois, bins, float(case["spatial_scale"]))
    (output * torch.tensor(case["upstream_grad"], dtype=dtype)).sum().backward()
    return output.detach().double().numpy(), features.grad.double().numpy(), rois.grad.double().numpy()


def test_prroi_float64(prroi_cases):
    for name, case in prroi_cases:
        output, grad_features, grad_rois = run_case(case, torch.float64)
        np.testing.assert_allclose(output, case["output"], rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(grad_features, case["grad_features"], rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(grad_rois, case["grad_rois"], rtol=1e-4, atol=2e-5, err_msg=name)


def test_prroi_float32(prroi_cases):
    for name, case in prroi_cases:
        output, grad_features, grad_rois = run_case(case, torch.float32)
        np.testing.assert_allclose(output, case["output"], rtol=0, atol=2e-5, err_msg=name)
        np.testing.assert_allclose(grad_features, case["grad_features"], rtol=0, atol=2e-5, err_msg=name)
        scale = np.abs(case["grad_rois"]).max()
        np.testing.assert_allclose(grad_rois, case["grad_rois"], rtol=1e-3, atol=1e-3 * scale, err_msg=name)


def test_prroi_inputs_come_from_the_filler(prroi_cases, golden_set, filler):
    """The stored inputs are those that the README names, so the numbers mean what it says."""
    for name, case in prroi_cases:
        index = name.removesuffix(".npz").removeprefix("case")
        made = filler.array(f"prroi_feat{index}", case["features"].shape, golden_set["seed"])
        np.testing.assert_allclose(case["features"], made, err_msg=name)


def test_prroi_half_stays_near(prroi_cases):
    for name, case in prroi_cases:
        output = precise_roi_pool(
            torch.tensor(case["features"], dtype=torch.float16),
            torch.tensor(case["rois"], dtype=torch.float32),
            (int(case["pooled_height"]), int(case["pooled_width"])),
            float(case["spatial_scale"]),
        )
        assert output.dtype == torch.float16
        np.testing.assert_allclose(output.double().numpy(), case["output"], rtol=0, atol=2e-2, err_msg=name)
