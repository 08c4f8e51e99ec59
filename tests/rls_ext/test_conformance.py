"""One suite that every form of P has to pass."""
import copy
import io
import math

import pytest
import torch

from rls_ext import HyperparameterError, InverseCorrelation, NonFiniteInputError, ShapeError, StateMismatchError
from tests.rls_ext.oracles import STREAMS, TOLERANCE, dense_oracle, relative_error, stream

FORMS = ("dense", "factored", "auto")
DELTA = 0.1


def fed(form, inputs, *, beta=1.0, dtype=torch.float64, delta=DELTA):
    inverse = InverseCorrelation(inputs[0].shape[-1], delta=delta, beta=beta, form=form, dtype=dtype)
    for x in inputs:
        inverse.update(x.to(dtype))
    return inverse


def gradients(dim, dtype, rows=9):
    return torch.randn(rows, dim, generator=torch.Generator().manual_seed(5)).to(dtype)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("beta", (1.0, 0.97))
@pytest.mark.parametrize("dim", (6, 40))
@pytest.mark.parametrize("form", FORMS)
def test_float64_equals_the_oracle(form, dim, beta, kind):
    inputs = stream(kind, 30, dim, seed=dim)
    truth = dense_oracle(inputs, DELTA, beta)
    inverse = fed(form, inputs, beta=beta)
    g = gradients(dim, torch.float64)
    assert relative_error(inverse.precondition(g), g, truth) < TOLERANCE[torch.float64]
    assert relative_error(inverse.dense(), torch.eye(dim), truth) < TOLERANCE[torch.float64]


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("delta", (0.1, 5e-4))
@pytest.mark.parametrize("dim", (7, 60, 300))
@pytest.mark.parametrize("form", ("factored", "auto"))
def test_float32_is_within_1e6_of_the_oracle(form, dim, delta, kind):
    inputs = stream(kind, 45, dim, seed=dim + 1)
    inverse = fed(form, inputs, dtype=torch.float32, delta=delta)
    g = gradients(dim, torch.float32)
    assert relative_error(inverse.precondition(g), g, dense_oracle(inputs, delta)) < TOLERANCE[torch.float32]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_half_types_are_as_good_as_they_can_be(form, dtype):
    inputs = [x / 10 for x in stream("random", 10, 30, seed=3)]
    inverse = fed(form, inputs, dtype=dtype)
    rounded = [x.to(dtype) for x in inputs]
    g = gradients(30, dtype)
    product = inverse.precondition(g)
    assert product.dtype == dtype
    assert relative_error(product, g, dense_oracle(rounded, DELTA)) < TOLERANCE[dtype]


@pytest.mark.parametrize("form", FORMS)
def test_gain_is_the_next_row_of_p(form):
    inputs = stream("random", 8, 20, seed=0)
    inverse = fed(form, inputs, beta=0.9)
    x = stream("random", 1, 20, seed=99)[0]
    gain = inverse.gain(x)
    inverse.update(x)
    torch.testing.assert_close(gain, x @ inverse.dense(), rtol=1e-10, atol=1e-14)  # Eq. kn2


@pytest.mark.parametrize("form", FORMS)
def test_a_block_is_its_rows_in_one_forgetting_step(form):
    block = stream("random", 1, 60, seed=2)[0].reshape(5, 12)
    together = fed(form, stream("random", 4, 12, seed=1) + [block], beta=0.8)
    truth = dense_oracle(stream("random", 4, 12, seed=1) + [block], DELTA, 0.8)
    torch.testing.assert_close(together.dense(), truth, rtol=1e-9, atol=1e-11)
    one_by_one = fed(form, list(block))
    torch.testing.assert_close(fed(form, [block]).dense(), one_by_one.dense(), rtol=1e-9, atol=1e-11)
    assert together.steps == 5 and one_by_one.steps == 5


@pytest.mark.parametrize("form", FORMS)
def test_shapes_dtypes_and_start(form):
    inverse = InverseCorrelation(10, delta=0.25, form=form)
    torch.testing.assert_close(inverse.dense(), torch.eye(10) * 4)
    assert inverse.steps == 0 and inverse.rank == 0 and inverse.dtype == torch.float32
    inverse.update(torch.ones(10))
    for shape in ((10,), (1, 10), (3, 10), (2, 3, 10), (0, 10)):
        product = inverse.precondition(torch.ones(shape, dtype=torch.float64))
        assert product.shape == shape and product.dtype == torch.float64
    assert inverse.nbytes > 0 and form in repr(inverse)


@pytest.mark.parametrize("form", FORMS)
def test_reset_forgets_everything(form):
    inverse = fed(form, stream("random", 12, 10, seed=0), beta=0.9)
    inverse.reset()
    torch.testing.assert_close(inverse.dense(), torch.eye(10, dtype=torch.float64) / DELTA)
    assert inverse.steps == 0 and inverse.rank == 0


@pytest.mark.parametrize("count", (0, 3, 30))
@pytest.mark.parametrize("form", FORMS)
def test_state_dict_round_trip_goes_on_as_before(form, count):
    inputs = stream("two_clusters", count + 5, 12, seed=4)
    inverse = InverseCorrelation(12, delta=DELTA, beta=0.95, form=form)
    for x in inputs[:count]:
        inverse.update(x)
    file = io.BytesIO()
    torch.save(inverse.state_dict(), file)
    file.seek(0)
    restored = InverseCorrelation(12, delta=DELTA, beta=0.95, form=form)
    restored.load_state_dict(torch.load(file, weights_only=True))
    for x in inputs[count:]:
        inverse.update(x)
        restored.update(x)
    assert restored.steps == inverse.steps and restored.rank == inverse.rank
    torch.testing.assert_close(restored.dense(), inverse.dense(), rtol=1e-6, atol=1e-6)
    copied = copy.deepcopy(inverse)
    inverse.update(inputs[0])
    assert not torch.equal(copied.dense(), inverse.dense())


def test_state_of_another_matrix_is_refused_by_name():
    state = InverseCorrelation(4, delta=1.0).state_dict()
    with pytest.raises(StateMismatchError, match="dim"):
        InverseCorrelation(5, delta=1.0).load_state_dict(state)
    with pytest.raises(StateMismatchError, match="beta"):
        InverseCorrelation(4, delta=1.0, beta=0.5).load_state_dict(state)
    with pytest.raises(StateMismatchError, match="form"):
        InverseCorrelation(4, delta=1.0, form="dense").load_state_dict(state)
    with pytest.raises(StateMismatchError, match="steps"):
        InverseCorrelation(4, delta=1.0).load_state_dict({"dim": 4, "delta": 1.0, "beta": 1.0})


@pytest.mark.parametrize("form", FORMS)
def test_to_another_dtype(form):
    inverse = fed(form, stream("random", 6, 15, seed=0), dtype=torch.float32)
    before = inverse.dense()
    assert inverse.to(dtype=torch.float64) is inverse and inverse.dtype == torch.float64
    torch.testing.assert_close(inverse.dense().float(), before)
    inverse.to("cpu", torch.float32).update(torch.ones(15))
    assert inverse.dense().dtype == torch.float32


@pytest.mark.parametrize("form", FORMS)
def test_bad_inputs_leave_p_untouched(form):
    inverse = fed(form, stream("random", 6, 8, seed=0), beta=0.9)
    before, steps = inverse.dense(), inverse.steps
    for bad in (math.nan, math.inf, -math.inf):
        x = torch.ones(8, dtype=torch.float64)
        x[3] = bad
        with pytest.raises(NonFiniteInputError, match="unchanged"):
            inverse.update(x)
        with pytest.raises(NonFiniteInputError):
            inverse.update(torch.stack((torch.ones(8, dtype=torch.float64), x)))
    for shape in ((7,), (2, 9), (2, 2, 8), (0, 8), ()):
        with pytest.raises(ShapeError, match="8"):
            inverse.update(torch.ones(shape))
    with pytest.raises(ShapeError):
        inverse.precondition(torch.ones(3, 9))
    with pytest.raises(ShapeError):
        inverse.gain(torch.ones(2, 8))
    with pytest.raises(HyperparameterError, match="float"):
        inverse.update(torch.ones(8, dtype=torch.long))
    assert torch.equal(inverse.dense(), before) and inverse.steps == steps


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": -1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": 1e-6, "dtype": torch.float16}, "delta"),
        ({"beta": 0.0}, "beta"),
        ({"beta": 1.01}, "beta"),
        ({"form": "sparse"}, "form"),
        ({"dtype": torch.int64}, "dtype"),
        ({"on_loss": "ignore"}, "on_loss"),
        ({"rank_tol": -1.0}, "rank_tol"),
        ({"dim": 0}, "dim"),
    ],
)
def test_bad_settings_are_named(change, word):
    with pytest.raises(HyperparameterError, match=word):
        settings = {"dim": 4, "delta": 1.0} | change
        InverseCorrelation(settings.pop("dim"), **settings)
