"""RLSPreconditioner on small networks, against the recursion written out in float64."""
import copy
import gc

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from rls_ext import (
    HyperparameterError,
    InverseCorrelation,
    MissingGradientError,
    RLSPreconditioner,
    StateMismatchError,
    UnsupportedModuleError,
    virtual_input_conv,
    virtual_input_linear,
)


@pytest.fixture
def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 3)).double()


def batch(rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 6, generator=generator).double(), torch.randint(3, (rows,), generator=generator)


def joined(layer):
    return torch.cat((layer.weight.grad, layer.bias.grad[:, None]), 1)


@pytest.mark.parametrize("low_rank", (True, False))
@pytest.mark.parametrize("rows", (1, 2, 40))
def test_linear_layers_follow_the_recursion(mlp, rows, low_rank):
    mlp.eval()
    preconditioner = RLSPreconditioner(mlp, delta=0.1, beta=0.9, low_rank=low_rank)
    reference = {name: InverseCorrelation(n, delta=0.1, beta=0.9, form="dense", dtype=torch.float64)
                 for name, n in (("0", 7), ("3", 6))}
    for step in range(4):
        x, y = batch(rows, step)
        mlp.zero_grad()
        F.cross_entropy(mlp(x), y).backward()
        inputs = {"0": x, "3": F.relu(mlp[0](x)).detach()}
        expected = {}
        for name, inverse in reference.items():
            inverse.update(virtual_input_linear(inputs[name]))
            expected[name] = inverse.precondition(joined(mlp[int(name)]))
        with torch.no_grad():
            mlp(x)  # evaluation in between is not seen
        preconditioner.step()
        for name, want in expected.items():
            torch.testing.assert_close(joined(mlp[int(name)]), want, rtol=1e-9, atol=1e-12)
    assert {name: p.steps for name, p in preconditioner.inverses.items()} == {"0": 4, "3": 4}


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"padding": "same", "padding_mode": "reflect"},
                                     {"dilation": 2, "bias": False}])
def test_conv_layer_follows_the_recursion(options):
    torch.manual_seed(0)
    conv = nn.Conv2d(3, 4, 3, **options).double()
    preconditioner = RLSPreconditioner([conv], delta=0.1)
    x = torch.randn(5, 3, 9, 9, dtype=torch.float64)
    conv(x).square().mean().backward()
    sides = conv._reversed_padding_repeated_twice
    padded = F.pad(x, sides, mode="reflect" if options.get("padding_mode") else "constant")
    gamma = torch.full((5,), 0.2, dtype=torch.float64)
    virtual = virtual_input_conv(padded, 3, gamma, conv.stride, 0, dilation=conv.dilation, bias=conv.bias is not None)
    gradient = conv.weight.grad.reshape(4, -1)
    if conv.bias is not None:
        gradient = torch.cat((gradient, conv.bias.grad[:, None]), 1)
    inverse = InverseCorrelation(gradient.shape[1], delta=0.1, dtype=torch.float64)
    inverse.update(virtual)
    want = inverse.precondition(gradient)
    preconditioner.step()
    torch.testing.assert_close(conv.weight.grad.reshape(4, -1), want[:, :27], rtol=1e-6, atol=1e-9)
    if conv.bias is not None:
        torch.testing.assert_close(conv.bias.grad, want[:, -1], rtol=1e-6, atol=1e-9)


def test_several_forwards_and_accumulation_equal_one_batch(mlp):
    mlp.eval()
    other = copy.deepcopy(mlp)
    x, y = batch(8)
    whole, parts = RLSPreconditioner(mlp, 0.1), RLSPreconditioner(other, 0.1)
    F.cross_entropy(mlp(x), y, reduction="sum").backward()
    for part in (slice(0, 3), slice(3, 8)):
        F.cross_entropy(other(x[part]), y[part], reduction="sum").backward()
    whole.step()
    parts.step()
    for a, b in zip(mlp.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("extra", ("regulariser", "accumulated", "clipped", "one_entry"))
def test_gradient_that_is_more_than_the_batch_is_still_preconditioned_whole(extra):
    torch.manual_seed(0)
    layer = nn.Linear(300, 200)
    preconditioner = RLSPreconditioner([layer], 5e-4)
    for _ in range(30):  # rank high enough for the product of factors to be the cheaper way
        layer.zero_grad()
        layer(torch.randn(4, 300)).square().mean().backward()
        preconditioner.step()
    layer.zero_grad()
    inputs = torch.randn(4, 300)
    loss = layer(inputs).square().mean()
    if extra == "regulariser":
        loss = loss + 1e-5 * layer.weight.square().sum()
    if extra == "accumulated":
        layer.weight.grad = torch.full_like(layer.weight, 1e-4)
    loss.backward()
    if extra == "clipped":
        nn.utils.clip_grad_norm_(layer.parameters(), 1e-3)
    if extra == "one_entry":
        layer.weight.grad[3, 77] += 0.1
    gradient = joined(layer)
    inverse = copy.deepcopy(preconditioner.inverses["0"])
    inverse.update(virtual_input_linear(inputs))
    want = inverse.precondition(gradient)
    preconditioner.step()
    torch.testing.assert_close(joined(layer), want, rtol=1e-4, atol=1e-6 * float(want.abs().max()))


def test_input_from_takes_the_features_before_dropout(mlp):
    torch.manual_seed(1)
    preconditioner = RLSPreconditioner(mlp, 0.1, overrides={"3": {"input_from": mlp[2], "delta": 0.5}})
    x, y = batch(16)
    F.cross_entropy(mlp(x), y).backward()
    before_dropout = virtual_input_linear(F.relu(mlp[0](x)).detach())
    preconditioner.step()
    expected = InverseCorrelation(len(before_dropout), delta=0.5, dtype=before_dropout.dtype)
    expected.update(before_dropout)
    torch.testing.assert_close(preconditioner.inverses["3"].dense(), expected.dense())
    assert preconditioner.inverses["0"].delta == 0.1


def test_given_virtual_inputs_replace_the_captured(mlp):
    mlp.eval()
    preconditioner = RLSPreconditioner(mlp, 0.1)
    x, y = batch(4)
    F.cross_entropy(mlp(x), y).backward()
    given = torch.arange(7, dtype=torch.float64)
    preconditioner.step({mlp[0]: given})
    want = InverseCorrelation(7, delta=0.1, dtype=torch.float64)
    want.update(given)
    torch.testing.assert_close(preconditioner.inverses["0"].dense(), want.dense())
    with pytest.raises(HyperparameterError, match="not one of the layers"):
        preconditioner.step({"nowhere": given})


def test_disabled_changes_nothing(mlp):
    preconditioner = RLSPreconditioner(mlp, 0.1)
    preconditioner.enabled = False
    x, y = batch(4)
    F.cross_entropy(mlp(x), y).backward()
    before = [p.grad.clone() for p in mlp.parameters()]
    preconditioner.step()
    assert all(torch.equal(a, p.grad) for a, p in zip(before, mlp.parameters(), strict=True))
    assert all(p.steps == 0 for p in preconditioner.inverses.values())
    preconditioner.enabled = True
    F.cross_entropy(mlp(x), y).backward()
    preconditioner.step()
    assert all(p.steps == 1 for p in preconditioner.inverses.values())


def test_frozen_parts_count_as_zero_and_are_not_written(mlp):
    mlp.eval()
    mlp[0].weight.requires_grad_(False)
    preconditioner = RLSPreconditioner(mlp, 0.1)
    x, y = batch(4)
    F.cross_entropy(mlp(x), y).backward()
    bias = mlp[0].bias.grad.clone()
    preconditioner.step()
    assert mlp[0].weight.grad is None
    corner = preconditioner.inverses["0"].dense()[-1, -1]
    torch.testing.assert_close(mlp[0].bias.grad, bias * corner)


def test_autocast_captures_in_float32():
    """The first layers see the same input in both precisions, so that their P must be the same."""
    models = [nn.Conv2d(3, 4, 3), nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))]
    for model, x in zip(models, (torch.randn(2, 3, 8, 8), torch.randn(9, 6)), strict=True):
        first = []
        for enabled in (False, True):
            preconditioner = RLSPreconditioner(model, 0.1)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                loss = model(x).float().square().mean()
            loss.backward()
            preconditioner.step()
            preconditioner.remove()
            assert all(torch.isfinite(p.grad).all() and p.grad.dtype == torch.float32 for p in model.parameters())
            inverses = list(preconditioner.inverses.values())
            assert all(p.dtype == torch.float32 and p.steps == 1 for p in inverses)
            first.append(inverses[0].dense())
        assert torch.equal(*first)


def test_state_dict_round_trip_and_reset(mlp):
    mlp.eval()
    first, x, y = RLSPreconditioner(mlp, 0.1), *batch(4)
    F.cross_entropy(mlp(x), y).backward()
    first.step()
    second = RLSPreconditioner(mlp, 0.1)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second.inverses["3"].dense(), first.inverses["3"].dense())
    with pytest.raises(StateMismatchError, match="layers"):
        RLSPreconditioner([mlp[0]], 0.1).load_state_dict({"enabled": True, "layers": {"other": {}}})
    first.reset()
    assert all(p.steps == 0 for p in first.inverses.values())


def test_removed_hooks_leave_the_model_alone(mlp):
    preconditioner = RLSPreconditioner(mlp, 0.1)
    preconditioner.remove()
    x, y = batch(3)
    F.cross_entropy(mlp(x), y).backward()
    before = [parameter.grad.clone() for parameter in mlp.parameters()]
    preconditioner.step()
    assert all(inverse.steps == 0 for inverse in preconditioner.inverses.values())
    assert all(torch.equal(a, b.grad) for a, b in zip(before, mlp.parameters(), strict=True))


@pytest.mark.parametrize("low_rank", (True, False))
def test_inputs_are_kept_only_for_products_of_factors(low_rank):
    layer = nn.Linear(6, 5)
    layer.weight.requires_grad_(False)  # so that the graph keeps no input either
    preconditioner = RLSPreconditioner([layer], 0.1, low_rank=low_rank)
    x = torch.randn(7, 6)
    layer(x).sum()
    others = [each for each in gc.get_objects() if type(each) is torch.Tensor and each is not x]
    assert any(each.shape == x.shape for each in others) == low_rank
    preconditioner.remove()


def test_what_is_not_supported_says_so(mlp):
    for bad, word in (
        ([nn.Conv2d(4, 4, 3, groups=2)], "groups"),
        ([nn.ConvTranspose2d(3, 3, 3)], "ConvTranspose2d"),
        (nn.ReLU(), "no nn.Linear"),
        ([nn.LazyLinear(3)], "lazy"),
    ):
        with pytest.raises(UnsupportedModuleError, match=word):
            RLSPreconditioner(bad, 0.1)
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    with pytest.raises(UnsupportedModuleError, match="shares"):
        RLSPreconditioner(tied, 0.1)
    with pytest.raises(HyperparameterError, match="unknown"):
        RLSPreconditioner(mlp, 0.1, overrides={"0": {"detla": 1}})
    with pytest.raises(HyperparameterError, match="not one of"):
        RLSPreconditioner(mlp, 0.1, overrides={"7": {"delta": 1}})
    preconditioner = RLSPreconditioner(mlp, 0.1)
    mlp(batch(3)[0])
    with pytest.raises(MissingGradientError, match="backward"):
        preconditioner.step()
