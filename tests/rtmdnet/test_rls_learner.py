"""RLS in the online learner: against naive float64 versions, and the properties that Algorithm 1 asks for."""
import copy

import numpy as np
import pytest
import torch
from torch import nn

from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSDescent, RLSHeadLearner
from pytracking.tracker.rtmdnet.descent import Momentum
from pytracking.tracker.rtmdnet.frame_memory import FrameMemory, SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.head_learner import HeadLearner
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from rls_ext import RLSPreconditioner
from tests.rtmdnet.oracles import SIZES, NaiveLearner, make_head, make_samples, weights

RATES = {"initial_rate": 2e-3, "regular_rate": 3e-3, "occasional_rate": 4e-3}


def make_learner(*, dropout: float = 0.0, **changes) -> RLSHeadLearner:
    params = RLSRtmdnetParams(**{**SIZES, **RATES, "delta": (0.5, 0.2, 0.1), **changes})
    return RLSHeadLearner(make_head(dropout=dropout), params, np.random.default_rng(0))


def run_beside_naive(learner: RLSHeadLearner, tolerance: float) -> None:
    naive = NaiveLearner(learner.head, learner.params, rls=True)
    plan = (("initial", learner.learn_initially, 5), ("regular", learner.update_regularly, 4))
    plan += (("regular", learner.update_regularly, 4), ("occasional", learner.update_occasionally, 4))
    for number, (name, stage, iterations) in enumerate(plan):
        learner.rng = np.random.default_rng(number)
        stage(*make_samples(number))
        naive.learn(name, make_samples(number), number, iterations, RATES[f"{name}_rate"])
        for layer, other in zip(learner.head.layers, naive.layers, strict=True):
            torch.testing.assert_close(layer.weight.data, other.weight.data, rtol=tolerance, atol=tolerance)
            torch.testing.assert_close(layer.bias.data, other.bias.data, rtol=tolerance, atol=tolerance)
    for inverse, expected in zip(learner.inverses, naive.inverses, strict=True):
        torch.testing.assert_close(inverse.dense(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("clip", ["before", "after"])
@pytest.mark.parametrize("decay", ["preconditioned", "plain"])
@pytest.mark.parametrize("limit", [10.0, 0.05])
def test_every_switch_equals_the_naive_algorithm(clip, decay, limit):
    run_beside_naive(make_learner(clip=clip, decay=decay, gradient_clip=limit, weight_decay=0.05), 1e-9)


@pytest.mark.parametrize("clip", ["before", "after"])
def test_mini_batches_of_fewer_rows_than_outputs_equal_the_naive_algorithm(clip):
    few = {"batch_positives": 2, "batch_negatives": 3}  # beside 9 outputs: P multiplies the inputs, not the gradient
    run_beside_naive(make_learner(clip=clip, decay="plain", gradient_clip=0.05, weight_decay=0.05, **few), 1e-9)


@pytest.mark.parametrize("beta", [0.95, 0.7])
def test_forgetting_equals_the_naive_algorithm(beta):
    run_beside_naive(make_learner(beta=beta, weight_decay=0.05), 1e-9)


def test_equals_hooks_and_a_torch_optimizer():
    """The same learning with rls_ext.RLSPreconditioner on the layers and torch.optim.SGD: the public way."""
    learner = make_learner(clip="after", decay="plain", delta=(0.3, 0.3, 0.3))
    layers = copy.deepcopy(learner.head.layers)
    network = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
    preconditioner = RLSPreconditioner(layers, delta=0.3)
    groups = [{"params": list(layer.parameters()), "lr": 3e-3 * (10 if layer is layers[2] else 1)} for layer in layers]
    optimizer = torch.optim.SGD(groups, lr=3e-3, momentum=0.9, weight_decay=5e-4)
    descent = RLSDescent(learner.head, learner.params)
    descent.begin_stage(Momentum(learner.head.layers, learner.params.momentum), [], 8)
    generator = torch.Generator().manual_seed(3)
    for _ in range(8):
        rows = torch.relu(torch.randn(16, layers[0].in_features, generator=generator, dtype=torch.float64))
        labels = torch.tensor([1] * 6 + [0] * 10)
        gradients, _ = learner.head.gradients(rows, labels)
        descent.descend(gradients, [3e-3, 3e-3, 3e-2])
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        preconditioner.step()
        nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
    for layer, other in zip(learner.head.layers, layers, strict=True):
        torch.testing.assert_close(layer.weight.data, other.weight.data, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("clip", ["before", "after"])
def test_with_infinite_delta_and_scaled_rates_it_is_plain_gradient_descent(clip):
    delta = 1e9
    limit = 0.5 if clip == "before" else 1e12  # clipping of what is 1e9 times smaller is another operation
    scaled = {name: rate * delta for name, rate in RATES.items() if name != "occasional_rate"}
    learner = make_learner(delta=(delta,) * 3, clip=clip, gradient_clip=limit, **scaled)
    plain = HeadLearner(
        make_head(),
        RtmdnetParams(**SIZES, **RATES, shared_momentum=False, weight_backup="copy", gradient_clip=limit),
        np.random.default_rng(0),
    )
    for number in range(3):
        for each in (learner, plain):
            (each.learn_initially if number == 0 else each.update_regularly)(*make_samples(number))
    for layer, other in zip(learner.head.layers, plain.head.layers, strict=True):
        torch.testing.assert_close(layer.weight.data, other.weight.data, rtol=1e-6, atol=1e-8)


def test_occasional_updates_never_touch_p():
    learner = make_learner()
    learner.learn_initially(*make_samples(0))
    before = [(inverse.dense(), inverse.steps) for inverse in learner.inverses]
    changed = weights(learner.head)
    learner.update_occasionally(*make_samples(1))
    learner.update_occasionally(*make_samples(2))
    assert not torch.equal(weights(learner.head)[0], changed[0])
    for (matrix, steps), inverse in zip(before, learner.inverses, strict=True):
        assert torch.equal(matrix, inverse.dense()) and steps == inverse.steps


@pytest.mark.parametrize("failures", [1, 3])
def test_after_occasional_updates_the_next_regular_one_starts_from_the_backup_exactly(failures):
    """Algorithm 1, lines 7 and 9, in two episodes: the second would fail with aliased backups."""
    learner = make_learner()
    learner.learn_initially(*make_samples(0))
    for episode in range(2):
        kept = weights(learner.head)
        for number in range(failures):
            learner.update_occasionally(*make_samples(10 * episode + number))
        assert learner.backup.held and not torch.equal(weights(learner.head)[0], kept[0])
        starts = record_starts(learner)
        learner.update_regularly(*make_samples(20 + episode))
        assert all(torch.equal(a, b) for a, b in zip(starts[0], kept, strict=True))
        assert not learner.backup.held


def record_starts(learner: RLSHeadLearner) -> list[list[torch.Tensor]]:
    starts: list[list[torch.Tensor]] = []
    original = type(learner.head).gradients

    def recorded(*args):
        starts.append(weights(learner.head))
        return original(learner.head, *args)

    learner.head.gradients = recorded
    return starts


def test_aliased_backups_lose_the_second_episode_as_the_released_code_does():
    copied, aliased = make_learner(), make_learner(weight_backup="alias")
    for learner in (copied, aliased):
        learner.learn_initially(*make_samples(0))
        learner.update_occasionally(*make_samples(1))
        learner.update_regularly(*make_samples(2))
    assert all(torch.equal(a, b) for a, b in zip(weights(copied.head), weights(aliased.head), strict=True))
    for learner in (copied, aliased):
        learner.update_occasionally(*make_samples(3))
        learner.update_regularly(*make_samples(4))
    assert not torch.equal(weights(copied.head)[0], weights(aliased.head)[0])


def test_the_virtual_input_can_be_taken_before_or_after_dropout():
    inverses = []
    for when in ("after", "before"):
        learner = make_learner(dropout=0.5, virtual_input=f"{when}_dropout", initial_iterations=1)
        learner.learn_initially(*make_samples(0))
        inverses.append([inverse.dense() for inverse in learner.inverses])
    torch.testing.assert_close(inverses[0][0], inverses[1][0])  # fc4 has no dropout
    assert not torch.allclose(inverses[0][1], inverses[1][1])
    assert not torch.allclose(inverses[0][2], inverses[1][2])


WIDE = 1100  # inputs, so that P of the first layer takes the way of long rows


def wide_learner(**changes) -> RLSHeadLearner:
    params = RLSRtmdnetParams(**{**SIZES, **RATES, "delta": (0.5, 0.2, 0.1), "weight_decay": 0.05, **changes})
    return RLSHeadLearner(make_head(inputs=WIDE), params, np.random.default_rng(0))


@pytest.mark.parametrize(("decay", "beta"), [("preconditioned", 1.0), ("plain", 1.0), ("preconditioned", 0.9)])
def test_a_layer_of_long_rows_equals_the_naive_algorithm(decay, beta):
    """In the first stage P knows nothing; the others use the coordinates of span_coordinates.py. The occasional stage
    in between is plain and goes on with their momentum."""
    learner = wide_learner(decay=decay, beta=beta, shared_momentum=True, weight_backup="none")
    naive = NaiveLearner(learner.head, learner.params, rls=True)
    for number, name in enumerate(["regular", "regular", "regular", "occasional", "regular", "regular"]):
        learner.rng = np.random.default_rng(number)
        stage = learner.update_regularly if name == "regular" else learner.update_occasionally
        stage(*make_samples(number, WIDE))
        naive.momenta[name] = naive.momenta["regular"]
        naive.learn(name, make_samples(number, WIDE), number, 4, RATES[f"{name}_rate"])
        naive.momenta["regular"] = naive.momenta[name]
    for layer, other in zip(learner.head.layers, naive.layers, strict=True):
        torch.testing.assert_close(layer.weight.data, other.weight.data, rtol=1e-9, atol=1e-9)
    g = torch.randn(5, WIDE + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(learner.inverses[0].precondition(g), g @ naive.inverses[0], rtol=1e-9, atol=1e-9)


def test_single_precision_follows_double_precision_for_many_stages():
    """With sizes at which products go to oneDNN, delta as it is by default, and what is carried from stage to stage."""
    learners = []
    for dtype in (torch.float64, torch.float32):
        generator = torch.Generator().manual_seed(0)
        layers = [nn.Linear(a, b).to(dtype) for a, b in ((WIDE, 128), (128, 128), (128, 2))]
        for layer in layers:
            layer.weight.data = torch.randn(layer.weight.shape, generator=generator).to(dtype) / 30
            layer.bias.data.zero_()
        params = RLSRtmdnetParams(**{**SIZES, "mined_negatives": 10})  # mining could decide by rounding
        learners.append(RLSHeadLearner(ClassifierHead(layers, 0.0), params, np.random.default_rng(0)))
    before = weights(learners[0].head)[0]
    for number in range(25):
        for learner, dtype in zip(learners, (torch.float64, torch.float32), strict=True):
            learner.update_regularly(*(SampleSet.whole(each.table.to(dtype)) for each in make_samples(number, WIDE)))
    exact, single = (weights(learner.head)[0] for learner in learners)
    assert torch.linalg.vector_norm(single - exact) < 1e-4 * torch.linalg.vector_norm(exact - before)


@pytest.mark.parametrize("budget", [None, 0.25])
def test_samples_that_stay_in_memory_are_learnt_from_as_new_ones_are(budget):
    """Their coordinates are kept between stages, while others are overwritten and P runs out of room."""
    kept, new = (wide_learner(p_memory_mib=budget) for _ in range(2))
    memories = FrameMemory(3, 12), FrameMemory(3, 20)
    for number in range(12):
        for memory, samples in zip(memories, make_samples(number, WIDE), strict=True):
            memory.add(samples.table[: memory.samples - number % 3])
        held = [memory.last() for memory in memories]
        kept.update_regularly(*held)
        new.update_regularly(*(SampleSet.whole(each.take(torch.arange(len(each)))) for each in held))
        for one, other in zip(weights(kept.head), weights(new.head), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_p_stays_within_its_budget_and_says_that_it_is_not_exact():
    learner = wide_learner(p_memory_mib=0.5)
    for number in range(15):
        learner.update_regularly(*make_samples(number, WIDE))
        assert learner.inverses[0].nbytes <= 2**19
    report = learner.report()
    assert learner.inverses[0].rank < 15 * 4 and report["error_bound"] > 0
    assert report["nbytes"] == sum(inverse.nbytes for inverse in learner.inverses)


def test_by_default_everything_is_remembered_for_a_thousand_frames():
    """The initial mini-batches and those of a hundred updates, with as many features as the published network has."""
    params = RLSRtmdnetParams()
    mini_batches = params.initial_iterations + 1000 // params.update_interval * params.update_iterations
    layers = [nn.Linear(4608, 512), nn.Linear(512, 512), nn.Linear(512, 2)]
    learner = RLSHeadLearner(ClassifierHead(layers, 0.5), params, np.random.default_rng(0))
    for inverse in learner.inverses:
        assert inverse.max_rank >= min(mini_batches, inverse.dim)
