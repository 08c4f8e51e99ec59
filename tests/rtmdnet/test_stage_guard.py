"""Learning that leaves the numbers is rejected: weights, P and momentum as before it, one warning."""
import warnings

import numpy as np
import pytest
import torch

from pytracking.tracker.base import RejectedUpdateWarning
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSHeadLearner
from pytracking.tracker.rtmdnet.head_learner import HeadLearner
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from tests.rtmdnet.oracles import SIZES, make_head, make_samples, weights
from tests.rtmdnet.test_rls_learner import WIDE

DIVERGING = 1e300  # a rate beyond all measure: a few mini-batches reach infinity in float64


def make_learner(rls: bool, **changes) -> HeadLearner:
    settings = {**SIZES, "regular_rate": 1e-3, "weight_decay": 0.05, **changes}
    params = (RLSRtmdnetParams if rls else RtmdnetParams)(**settings)
    return (RLSHeadLearner if rls else HeadLearner)(make_head(), params, np.random.default_rng(0))


def stages(learner: HeadLearner) -> dict:
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
    inverses = [(inverse.dense(), inverse.steps) for inverse in learner.inverses] if rls else []
    setattr(learner.params, f"{stage}_rate", DIVERGING)
    with pytest.warns(RejectedUpdateWarning, match=rf"{stage} learning made .* rejected.*regular_rate"):
        report = stages(learner)[stage](*make_samples(2))
    assert report.iterations == 0 and np.isnan(report.loss) and learner.guard.rejected == 1
    assert all(torch.equal(a, b) for a, b in zip(before, weights(learner.head), strict=True))
    for inverse, (matrix, steps) in zip(learner.inverses if rls else [], inverses, strict=True):
        assert torch.equal(inverse.dense(), matrix) and inverse.steps == steps


@pytest.mark.parametrize("beta", [1.0, 0.99])
@pytest.mark.parametrize("mini_batches", [4, 80])
def test_a_stage_lost_in_its_last_mini_batch_leaves_no_trace_in_p(beta, mini_batches):
    learner = make_learner(rls=True, beta=beta, update_iterations=mini_batches)
    learner.learn_initially(*make_samples(0))
    before = [(inverse.dense(), inverse.steps, inverse.rank) for inverse in learner.inverses]
    gradients, seen = learner.head.gradients, []

    def lost_at_last(*args):
        seen.append(args)
        found, loss = gradients(*args)
        return found, loss * (torch.nan if len(seen) == mini_batches else 1)

    learner.head.gradients = lost_at_last
    with pytest.warns(RejectedUpdateWarning):
        learner.update_regularly(*make_samples(1))
    assert len(seen) == mini_batches
    for inverse, (matrix, steps, rank) in zip(learner.inverses, before, strict=True):
        assert torch.equal(inverse.dense(), matrix) and (inverse.steps, inverse.rank) == (steps, rank)


@pytest.mark.parametrize("beta", [1.0, 0.99])
def test_a_lost_stage_in_span_coordinates_leaves_no_trace(beta):
    """There P learns the stage's inputs only at its end, and the weights are written back from coordinates."""
    params = RLSRtmdnetParams(**{**SIZES, "regular_rate": 1e-3, "beta": beta})
    learner = RLSHeadLearner(make_head(inputs=WIDE), params, np.random.default_rng(0))
    learner.learn_initially(*make_samples(0, WIDE))
    learner.update_regularly(*make_samples(1, WIDE))
    before = weights(learner.head), [inverse.dense() for inverse in learner.inverses]
    gradients, fc4, in_coordinates = learner.head.gradients, learner.head.layers[0], []

    def lost_at_last(*args):
        in_coordinates.append(learner.head.layers[0] is not fc4)
        found, loss = gradients(*args)
        return found, loss * (torch.nan if len(in_coordinates) == params.update_iterations else 1)

    learner.head.gradients = lost_at_last
    with pytest.warns(RejectedUpdateWarning):
        learner.update_regularly(*make_samples(2, WIDE))
    assert all(in_coordinates), "otherwise this proves nothing"
    assert learner.head.layers[0] is fc4
    assert all(torch.equal(a, b) for a, b in zip(before[0], weights(learner.head), strict=True))
    assert all(torch.equal(a, b.dense()) for a, b in zip(before[1], learner.inverses, strict=True))


@pytest.mark.parametrize("rls", [False, True])
def test_learning_goes_on_after_a_rejection_as_if_its_momentum_started_from_zero(rls):
    disturbed, calm = make_learner(rls), make_learner(rls)
    for learner in (disturbed, calm):
        learner.learn_initially(*make_samples(0))
    disturbed.params.regular_rate = DIVERGING
    with pytest.warns(RejectedUpdateWarning):
        disturbed.update_regularly(*make_samples(1))
    disturbed.params.regular_rate = calm.params.regular_rate
    for learner in (disturbed, calm):
        learner.rng = np.random.default_rng(5)
        assert learner.update_regularly(*make_samples(2)).iterations == SIZES["update_iterations"]
    for one, other in zip(weights(disturbed.head), weights(calm.head), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_one_warning_per_sequence_names_the_parameter_and_the_rest_is_counted():
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
