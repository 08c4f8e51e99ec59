"""Products by oneDNN: those of float64 up to float32's rounding, in every layout, and ordinary ones where it cannot."""
from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rls_ext.products import product


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.one_of(  # small ones, and those that go to oneDNN
        st.tuples(st.integers(0, 40), st.integers(1, 60), st.integers(1, 40)),
        st.tuples(st.integers(102, 140), st.integers(102, 180), st.integers(102, 140)),
    ),
    turned=st.tuples(st.booleans(), st.booleans()),
    bias=st.sampled_from(["none", "whole", "column of a matrix"]),
    seed=st.integers(0, 2**31 - 1),
)
def test_product_of_every_size_and_layout_is_the_exact_one(sizes, turned, bias, seed) -> None:
    rows, inner, columns = sizes
    generator = torch.Generator().manual_seed(seed)
    left, right = torch.randn(rows, inner, generator=generator), torch.randn(inner, columns, generator=generator)
    left, right = (each.T.contiguous().T if turn else each for each, turn in zip((left, right), turned, strict=True))
    added = None if bias == "none" else torch.randn(columns, 3, generator=generator)[:, 1]
    added = added.contiguous() if bias == "whole" else added
    exact = left.double() @ right.double() + (0 if added is None else added.double())
    found = product(left, right, added)
    bound = (left.abs().double() @ right.abs().double() + 1) * 1e-6
    assert ((found.double() - exact).abs() <= bound).all()


def test_parts_of_larger_matrices_are_multiplied_as_they_are() -> None:
    whole = torch.randn(300, 700)
    left, right = whole[:100, 3:503], whole[100:299, 3:503].T
    assert torch.allclose(product(left, right), left.double().mm(right.double()).float(), atol=1e-4)


@pytest.mark.parametrize("turned", [False, True])
def test_a_part_of_a_larger_matrix_on_the_right_goes_to_pytorch(turned: bool) -> None:
    """oneDNN would multiply it number by number, in a thousand times the time."""
    whole = torch.randn(200, 300)
    right = whole[:, :200].T if turned else whole[:, :200]
    left = torch.randn(150, 200)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as record:
        product(left, right)
    assert "aten::mm" in {event.key for event in record.key_averages()}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_precisions_are_kept(dtype: torch.dtype) -> None:
    left, right = torch.ones(128, 128, dtype=dtype), torch.ones(128, 128, dtype=dtype)
    assert product(left, right).dtype == dtype
    assert (product(left, right) == 128).all()


def test_gradients_flow_where_they_are_asked_for() -> None:
    left, right = torch.ones(128, 128, requires_grad=True), torch.ones(128, 128)
    product(left, right).sum().backward()
    assert left.grad is not None and (left.grad == 128).all()
