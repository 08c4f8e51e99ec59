"""P as the released code computed it, from the virtual inputs stored beside the golden numbers (folder optimizer)."""
import json

import numpy as np
import pytest
import torch

from rls_ext import InverseCorrelation

DELTA = 0.1  # P_0 = 10 I
P_ATOL = {"float64": 1e-9, "float32": 1e-5, "half": 0.0}
TRACE_RTOL = {"float64": 1e-12, "float32": 1e-6, "half": 0.0}
DTYPES = {"float64": torch.float64, "float32": torch.float32, "half": torch.float16}


def golden_files(golden_dir, kind):
    files = sorted((golden_dir / "optimizer").glob(f"rls_small_{kind}_a*.npz"))
    assert files, f"no rls_small_{kind}_a*.npz in {golden_dir / 'optimizer'}"
    return files


def compare(inverse, data, step, kind):
    matrix = inverse.dense().double()
    np.testing.assert_allclose(matrix.diagonal()[::7], data["P_diag_sub7"][step], rtol=0, atol=P_ATOL[kind])
    np.testing.assert_allclose(matrix[:12, :12], data["P_block12"][step], rtol=0, atol=P_ATOL[kind])
    np.testing.assert_allclose(float(matrix.trace()), data["P_trace"][step], rtol=TRACE_RTOL[kind])


@pytest.mark.parametrize("form", ("dense", "factored", "auto"))
@pytest.mark.parametrize("kind", ("float32", "float64"))
def test_optimizer_golden_recursion_in_every_form(golden_dir, kind, form):
    for file in golden_files(golden_dir, kind):
        data = np.load(file)
        inputs = torch.from_numpy(data["virtual_input"])
        inverse = InverseCorrelation(inputs.shape[1], delta=DELTA, form=form, dtype=DTYPES[kind])
        for step, x in enumerate(inputs):
            inverse.update(x)
            compare(inverse, data, step, kind)
        norm = float(torch.linalg.matrix_norm(inverse.dense().double()))
        np.testing.assert_allclose(norm, float(data["P_fro"]), rtol=1e-6)


def test_optimizer_golden_float16_bit_for_bit(golden_dir):
    """The released P lives in float16; the dense form rounds where it rounds."""
    for file in golden_files(golden_dir, "half"):
        data = np.load(file)
        inputs = torch.from_numpy(data["virtual_input"])
        inverse = InverseCorrelation(inputs.shape[1], delta=DELTA, form="dense", dtype=torch.float16)
        for step, x in enumerate(inputs):
            inverse.update(x)
            compare(inverse, data, step, "half")


def test_optimizer_golden_reset_every_100_updates(golden_dir):
    """reset() after the 100th update gives back 10 I, whatever came before."""
    data = np.load(golden_dir / "optimizer" / "rls_reset100_float64.npz")
    size = json.loads((golden_dir / "optimizer" / "rls.json").read_text())["reset"]
    dim = size["C"] * size["k"] ** 2
    inverse = InverseCorrelation(dim, delta=DELTA, dtype=torch.float64)
    for x in torch.randn(100, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64):
        inverse.update(x)
    inverse.reset()
    for call in (100, 200):
        np.testing.assert_allclose(inverse.dense(), data[f"P_after_{call}"], rtol=0, atol=1e-12)
    # after one more virtual input P is 10 I minus one direction: the eigenvector of its smallest eigenvalue
    after = torch.from_numpy(data["P_after_101"])
    values, vectors = torch.linalg.eigh(after)
    x = vectors[:, 0] * (1 / values[0] - DELTA).sqrt()
    inverse.update(x)
    np.testing.assert_allclose(inverse.dense(), after, rtol=0, atol=1e-9)
