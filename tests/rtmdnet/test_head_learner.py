"""Plain online learning: gradients, mini-batches, momentum and backups against naive float64 versions."""
import numpy as np
import pytest
import torch
from torch import nn

from pytracking.tracker.rtmdnet.head_learner import HeadLearner
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from tests.rtmdnet.oracles import SIZES, NaiveLearner, make_head, make_samples, weights


def make_learner(**changes) -> HeadLearner:
    params = RtmdnetParams(**{**SIZES, "shared_momentum": False, "weight_backup": "copy", **changes})
    return HeadLearner(make_head(), params, np.random.default_rng(0))


def test_gradients_equal_autograd_also_with_dropout():
    head = make_head(dropout=0.5)
    rows = torch.randn(8, head.layers[0].in_features, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    labels = torch.tensor([1, 1, 1, 0, 0, 0, 0, 0])
    gradients, loss = head.gradients(rows, labels)
    masks = torch.Generator().manual_seed(0)
    hidden = rows
    for number, layer in enumerate(head.layers):
        if number:
            hidden = hidden * (torch.rand(hidden.shape, generator=masks) >= 0.5).double() / 0.5
        hidden = layer(hidden)
        hidden = torch.relu(hidden) if number < 2 else hidden
    expected = nn.functional.cross_entropy(hidden, labels)
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    for gradient, layer in zip(gradients, head.layers, strict=True):
        torch.testing.assert_close(gradient.outputs.T @ gradient.inputs, layer.weight.grad, rtol=1e-10, atol=1e-14)
        torch.testing.assert_close(gradient.outputs.sum(0), layer.bias.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("clip", [10.0, 0.01])
def test_three_stages_equal_naive_gradient_descent(clip):
    learner = make_learner(gradient_clip=clip, initial_rate=0.02, regular_rate=0.03, occasional_rate=0.04)
    naive = NaiveLearner(learner.head, learner.params, rls=False)
    stages = (
        ("initial", learner.learn_initially, 5, 0.02),
        ("regular", learner.update_regularly, 4, 0.03),
        ("occasional", learner.update_occasionally, 4, 0.04),
        ("occasional", learner.update_occasionally, 4, 0.04),
    )
    for number, (name, stage, iterations, rate) in enumerate(stages):
        learner.rng = np.random.default_rng(number)
        stage(*make_samples(number))
        naive.learn(name, make_samples(number), number, iterations, rate)
        for layer, other in zip(learner.head.layers, naive.layers, strict=True):
            torch.testing.assert_close(layer.weight.data, other.weight.data, rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(layer.bias.data, other.bias.data, rtol=1e-9, atol=1e-12)


def test_shared_momentum_makes_occasional_updates_go_on_where_regular_ones_stopped():
    rates = {"regular_rate": 0.03, "occasional_rate": 0.03}
    apart, shared = (make_learner(shared_momentum=value, **rates) for value in (False, True))
    for learner in (apart, shared):
        learner.update_regularly(*make_samples(0))
        learner.update_occasionally(*make_samples(1))
    assert not torch.equal(apart.head.layers[0].weight, shared.head.layers[0].weight)


def test_mining_takes_the_negatives_with_the_highest_scores():
    learner = make_learner()
    positives, negatives = make_samples(0)
    chosen, offered = torch.arange(6), torch.arange(24)
    features, first_outputs = learner.mini_batch(positives, chosen, negatives, offered)
    hardest = learner.head.scores(negatives.take(offered)).topk(10).indices
    torch.testing.assert_close(features, torch.cat([positives.take(chosen), negatives.take(hardest)]))
    torch.testing.assert_close(first_outputs, torch.relu(learner.head.layers[0](features)).detach())


def test_outputs_known_from_mining_give_the_same_gradients():
    rows = torch.randn(16, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    labels = torch.tensor([1] * 6 + [0] * 10)
    known = make_head().first_outputs(rows)
    (fresh, loss), (reused, same_loss) = (
        make_head(dropout=0.5).gradients(rows, labels, given) for given in (None, known)
    )
    torch.testing.assert_close(loss, same_loss)
    for one, other in zip(fresh, reused, strict=True):
        for part in ("inputs", "raw_inputs", "outputs"):
            torch.testing.assert_close(getattr(one, part), getattr(other, part))


def test_nothing_is_learnt_from_an_empty_set():
    learner = make_learner()
    before = weights(learner.head)
    positives, negatives = make_samples(0)
    empty = type(negatives)(negatives.table, negatives.rows[:0])
    report = learner.update_regularly(positives, empty)
    assert report.iterations == 0 and np.isnan(report.loss)
    assert all(torch.equal(a, b) for a, b in zip(before, weights(learner.head), strict=True))


def test_learning_lowers_the_loss():
    learner = make_learner(regular_rate=0.05, update_iterations=60)
    first = make_samples(0)
    assert learner.update_regularly(*first).loss > 1.5 * learner.update_regularly(*first).loss


def test_backups_of_mode_none_keep_occasional_changes():
    learner = make_learner(weight_backup="none")
    learner.update_occasionally(*make_samples(0))
    changed = weights(learner.head)
    learner.backup.restore()
    assert all(torch.equal(a, b) for a, b in zip(changed, weights(learner.head), strict=True))
