"""Learning that leaves the numbers is rejected: weights, P and momentum as before it, one warning."""
import warnings

import numpy as np
import pytest
import torch

from pytracking.tracker.base import RejectedUpdateWarning
from pytracking.tracker.rls_rtmdnet import layer_memory, preconditioned_decay, rls_learner
from pytracking.tracker.rls_rtmdnet.params import RLSRTMDNetParams
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSLearner
from pytracking.tracker.rtmdnet.online_learner import OnlineLearner
from pytracking.tracker.rtmdnet.params import RTMDNetParams
from tests.rtmdnet.oracles import SIZES, make_head, make_samples, weights

DIVERGING = 1e300  # a rate beyond all measure: a few mini-batches reach infinity in float64


def make_learner(rls: bool) -> OnlineLearner:
    params = (RLSRTMDNetParams if rls else RTMDNetParams)(**SIZES, regular_rate=1e-3, weight_decay=0.05)
    return (RLSLearner if rls else OnlineLearner)(make_head(), params, np.random.default_rng(0))


def stages(learner: OnlineLearner) -> dict:
    return {
        "initial": learner.learn_initially,
        "regular": learner.update_regularly,
        "occasional": learner.update_occasionally,
    }


@pytest.mark.parametrize("rls", [False, True])
@pytest.mark.parametrize("stage", ["initial", "regular", "occasional"])
def test_a_diverging_stage_leaves_no_trace_but_a_warning(rls, stage):
    learner = make_learner(rls)
    learner.learn_initially(*make_samples(0))
    learner.update_regularly(*make_samples(1))
    before = weights(learner.head)
    memories = learner._improved.memories if rls else []
    inverses = [(memory.inverse.dense(), memory.inverse.steps) for memory in memories]
    setattr(learner.params, f"{stage}_rate", DIVERGING)
    with pytest.warns(RejectedUpdateWarning, match=rf"{stage} learning made .* rejected.*regular_rate"):
        report = stages(learner)[stage](*make_samples(2))
    assert report.iterations == 0 and np.isnan(report.loss) and learner.guard.rejected == 1
    assert all(torch.equal(a, b) for a, b in zip(before, weights(learner.head), strict=True))
    for memory, (inverse, steps) in zip(memories, inverses, strict=True):
        assert torch.equal(memory.inverse.dense(), inverse) and memory.inverse.steps == steps


@pytest.mark.parametrize("rls", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_learning_goes_on_after_a_rejection_as_if_its_momentum_had_started_anew(rls, large, monkeypatch):
    if large:
        monkeypatch.setattr(rls_learner, "LARGE", 1)
        monkeypatch.setattr(preconditioned_decay, "SHORT_ROWS", 1)
    monkeypatch.setattr(layer_memory, "PENDING_LIMIT", 1000)
    disturbed, calm = make_learner(rls), make_learner(rls)
    for learner in (disturbed, calm):
        learner.learn_initially(*make_samples(0))
    disturbed.params.regular_rate = DIVERGING
    with pytest.warns(RejectedUpdateWarning):
        disturbed.update_regularly(*make_samples(1))
    disturbed.params.regular_rate = calm.params.regular_rate
    for learner in (disturbed, calm):
        learner.rng = np.random.default_rng(5)
        if rls and large:  # both from a fresh product, which the rejection asks for
            for decaying in learner._improved.decaying.values():
                decaying.abandon_stage()
        assert learner.update_regularly(*make_samples(2)).iterations == SIZES["update_iterations"]
    for one, other in zip(weights(disturbed.head), weights(calm.head), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_one_warning_a_sequence_names_the_parameter_and_the_rest_is_counted():
    learner = make_learner(rls=True)
    learner.learn_initially(*make_samples(0))
    learner.params.update_iterations, learner.params.regular_rate = 1, float("inf")
    with pytest.warns(RejectedUpdateWarning, match="fc4.weight.*Raise delta"):
        learner.update_regularly(*make_samples(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.update_regularly(*make_samples(1))
    assert learner.guard.rejected == 2


def test_healthy_learning_is_not_rejected():
    learner = make_learner(rls=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn_initially(*make_samples(0))
        learner.update_regularly(*make_samples(1))
        learner.update_occasionally(*make_samples(1))
    assert learner.guard.rejected == 0
