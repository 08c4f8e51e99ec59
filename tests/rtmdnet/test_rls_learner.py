"""RLS in the online learner: against naive float64 versions, and the properties that Algorithm 1 asks for."""
import copy

import numpy as np
import pytest
import torch
from torch import nn

from pytracking.tracker.rls_rtmdnet import layer_memory, preconditioned_decay, rls_learner
from pytracking.tracker.rls_rtmdnet.params import RLSRTMDNetParams
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSLearner
from pytracking.tracker.rtmdnet.memory import SampleSet
from pytracking.tracker.rtmdnet.online_learner import OnlineLearner
from pytracking.tracker.rtmdnet.params import RTMDNetParams
from rls_ext import RLSPreconditioner
from tests.rtmdnet.oracles import SIZES, NaiveLearner, make_head, make_samples, weights

RATES = {"initial_rate": 2e-3, "regular_rate": 3e-3, "occasional_rate": 4e-3}


def make_learner(*, dropout: float = 0.0, **changes) -> RLSLearner:
    params = RLSRTMDNetParams(**{**SIZES, **RATES, "delta": (0.5, 0.2, 0.1), **changes})
    return RLSLearner(make_head(dropout=dropout), params, np.random.default_rng(0))


def run_beside_naive(learner: RLSLearner, tolerance: float) -> None:
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
    for memory, inverse in zip(learner._improved.memories, naive.inverses, strict=True):
        torch.testing.assert_close(memory.inverse.dense(), inverse, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("clip", ["before", "after"])
@pytest.mark.parametrize("decay", ["preconditioned", "plain"])
@pytest.mark.parametrize("limit", [10.0, 0.05])
def test_every_switch_equals_the_naive_algorithm(clip, decay, limit):
    run_beside_naive(make_learner(clip=clip, decay=decay, gradient_clip=limit, weight_decay=0.05), 1e-9)


@pytest.mark.parametrize("beta", [0.95, 0.7])
def test_forgetting_equals_the_naive_algorithm(beta):
    run_beside_naive(make_learner(beta=beta, weight_decay=0.05), 1e-9)


@pytest.mark.parametrize("large", [False, True])
def test_taking_inputs_in_early_changes_nothing(monkeypatch, large):
    monkeypatch.setattr(layer_memory, "PENDING_LIMIT", 2)
    monkeypatch.setattr(rls_learner, "LARGE", 1 if large else 2**16)
    run_beside_naive(make_learner(**({"decay": "plain"} if large else {"weight_decay": 0.05})), 1e-9)


@pytest.mark.parametrize("large", [False, True])
def test_more_inputs_than_there_was_room_for_change_nothing(monkeypatch, large):
    monkeypatch.setattr(layer_memory, "PENDING_ROOM", 2)
    monkeypatch.setattr(rls_learner, "LARGE", 1 if large else 2**16)
    run_beside_naive(make_learner(**({"decay": "plain"} if large else {"weight_decay": 0.05})), 1e-9)


def test_equals_hooks_and_a_torch_optimizer():
    """The same learning with rls_ext.RLSPreconditioner on the layers and torch.optim.SGD: the public way."""
    learner = make_learner(clip="after", decay="plain", delta=(0.3, 0.3, 0.3))
    layers = copy.deepcopy(learner.head.layers)
    network = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
    preconditioner = RLSPreconditioner(layers, delta=0.3)
    groups = [{"params": list(layer.parameters()), "lr": 3e-3 * (10 if layer is layers[2] else 1)} for layer in layers]
    optimizer = torch.optim.SGD(groups, lr=3e-3, momentum=0.9, weight_decay=5e-4)
    descent, momentum = learner._improved, learner._regular
    generator = torch.Generator().manual_seed(3)
    descent.begin_stage(10)
    for _ in range(8):
        rows = torch.relu(torch.randn(16, layers[0].in_features, generator=generator, dtype=torch.float64))
        labels = torch.tensor([1] * 6 + [0] * 10)
        gradients, _ = learner.head.gradients(rows, labels)
        negatives = torch.arange(10)
        descent.begin_stage(10)  # other rows under the same numbers: no product may be used again
        momentum.descend(descent.steps(gradients, negatives), [3e-3, 3e-3, 3e-2])
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
    plain = OnlineLearner(
        make_head(),
        RTMDNetParams(**SIZES, **RATES, shared_momentum=False, weight_backup="copy", gradient_clip=limit),
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
    before = [(memory.inverse.dense(), memory.inverse.steps) for memory in learner._improved.memories]
    changed = weights(learner.head)
    learner.update_occasionally(*make_samples(1))
    learner.update_occasionally(*make_samples(2))
    assert not torch.equal(weights(learner.head)[0], changed[0])
    for (inverse, steps), memory in zip(before, learner._improved.memories, strict=True):
        assert torch.equal(inverse, memory.inverse.dense()) and steps == memory.inverse.steps


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


def record_starts(learner: RLSLearner) -> list[list[torch.Tensor]]:
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
        inverses.append([memory.inverse.dense() for memory in learner._improved.memories])
    torch.testing.assert_close(inverses[0][0], inverses[1][0])  # fc4 has no dropout
    assert not torch.allclose(inverses[0][1], inverses[1][1])
    assert not torch.allclose(inverses[0][2], inverses[1][2])


def joined_parameters(layer: nn.Linear) -> torch.Tensor:
    out = layer.weight.new_empty(layer.out_features, layer.in_features + 1)
    return preconditioned_decay.join_parameters(layer, out)


def run_beside_exact_decay(learner: RLSLearner, monkeypatch, samples: list) -> list[float]:
    """The relative error of fc4's W P_n in every mini-batch of some regular updates, on the learner's own weights."""
    errors, inputs = [], learner.head.layers[0].in_features
    shortcut = preconditioned_decay.PreconditionedWeights.step

    def compared(self, coefficients, factors, decay):
        exact = self.memory.precondition(joined_parameters(self.layer))
        step = shortcut(self, coefficients.clone(), factors, decay)
        gradient = coefficients.T @ factors[:, : inputs + 1]
        found = (torch.cat([step.weight, step.bias[:, None]], dim=1) - gradient) / decay
        errors.append(float((found - exact).norm() / exact.norm()))
        return step

    monkeypatch.setattr(preconditioned_decay.PreconditionedWeights, "step", compared)
    for each in samples:
        learner.update_regularly(*each)
    return errors


def samples_of(updates: int, inputs: int) -> list[tuple[SampleSet, SampleSet]]:
    return [make_samples(number, inputs) for number in range(updates)]


def make_large_learner(monkeypatch, inputs: int, **changes) -> RLSLearner:
    """A learner whose fc4 counts as large, and as one with long rows if it has more than 500 inputs."""
    monkeypatch.setattr(rls_learner, "LARGE", 1000)
    monkeypatch.setattr(preconditioned_decay, "SHORT_ROWS", 500)
    params = RLSRTMDNetParams(**{**SIZES, "update_iterations": 15}, **changes)
    return RLSLearner(make_head(inputs=inputs), params, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("clip", "delta", "rate", "tolerance"),
    [("after", 5e-4, 3e-4, 0.004), ("before", 1.0, 0.01, 0.025), ("before", 5e-4, 3e-4, 0.15)],
)
def test_decay_of_a_large_layer_is_close_to_exact(monkeypatch, clip, delta, rate, tolerance):
    """The shortcut for fc4 against the exact product, mini-batch by mini-batch on the same weights."""
    learner = make_large_learner(monkeypatch, 600, clip=clip, delta=(delta,) * 3, regular_rate=rate)
    errors = run_beside_exact_decay(learner, monkeypatch, samples_of(4, 600))
    assert len(errors) == 60 and errors[0] < 1e-9
    assert max(errors) < tolerance


def test_decay_stays_close_to_exact_when_p_has_seen_every_direction(monkeypatch):
    """No direction is left on which P is 1/delta: the weights then change where P is smaller, and a must follow."""
    inputs = 130
    learner = make_large_learner(monkeypatch, inputs, regular_rate=3e-4)
    errors = run_beside_exact_decay(learner, monkeypatch, samples_of(16, inputs))
    assert learner._improved.memories[0].inverse.rank == inputs + 1
    assert learner._improved.decaying[0].a < 100  # 1/delta is 2000
    assert max(errors) < 0.15 and max(errors[-30:]) < 0.01


def test_p_of_a_large_layer_stays_within_its_budget_and_the_decay_follows(monkeypatch):
    """Once directions are forgotten P is no longer the sum of its changes, so W P must be computed afresh."""
    inputs, budget = 600, 0.5
    learner = make_large_learner(monkeypatch, inputs, memory_budget=budget)
    memory, decaying = learner._improved.memories[0], learner._improved.decaying[0]
    for number in range(11):  # 165 mini-batches: age alone would not ask for a fresh product at the end
        learner.update_regularly(*make_samples(number, inputs))
        assert memory.inverse.nbytes <= budget * 2**20
    assert memory.inverse.truncations >= 2 and memory.inverse.rank < 11 * 15
    outputs = decaying.layer.out_features
    nothing = torch.zeros(1, outputs, dtype=torch.float64), torch.zeros(1, memory.width, dtype=torch.float64)
    decaying._truncations -= 1  # as right after another truncation
    decaying._age = 0
    decaying._kept += 1  # must not be used
    found = decaying.step(*nothing, 1.0)
    exact = memory.precondition(joined_parameters(decaying.layer))
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * float(exact.abs().max())}
    torch.testing.assert_close(found.weight, exact[:, :-1], **tolerance)
    torch.testing.assert_close(found.bias, exact[:, -1], **tolerance)


def test_without_a_budget_everything_is_remembered(monkeypatch):
    learner = make_large_learner(monkeypatch, 600, memory_budget=None)
    for number in range(6):
        learner.update_regularly(*make_samples(number, 600))
    assert learner._improved.memories[0].inverse.rank == 6 * 15


@pytest.mark.parametrize("rows", [3, 12, 512])
def test_a_table_of_products_changes_nothing_full_or_not(monkeypatch, rows):
    monkeypatch.setattr(rls_learner, "PRODUCTS", rows)
    monkeypatch.setattr(rls_learner, "LARGE", 1)
    learner = make_learner(decay="plain")
    run_beside_naive(learner, 1e-9)


@pytest.mark.parametrize("virtual_input", ["after_dropout", "before_dropout"])
def test_large_layers_with_dropout_learn_as_small_ones_do(monkeypatch, virtual_input):
    results = []
    for large in (1, 2**16):
        monkeypatch.setattr(rls_learner, "LARGE", large)
        learner = make_learner(dropout=0.5, virtual_input=virtual_input, decay="plain")
        for number, stage in enumerate((learner.learn_initially, learner.update_regularly, learner.update_regularly)):
            stage(*make_samples(number))
        results.append(weights(learner.head))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)
