"""The margin on old samples: which samples are kept, which count, and that reporting it changes no box."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.dimp.past import PastSamples, margins
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker
from tests.dimp.test_learners import few
from tests.dimp.test_tracker import ALWAYS_FOUND, SMALL, boxes, run

LEARNERS = {
    "steepest_descent": (DimpTracker, DimpParams),
    "gradient_descent": (DimpTracker, DimpParams),
    "rls": (RLSDimpTracker, RLSDimpParams),
    "exact": (RLSDimpTracker, RLSDimpParams),
}


@few
@given(st.sets(st.integers(1, 3000), min_size=1, max_size=300), st.integers(2, 16))
@example({1, 2, 3, 4}, 3)
def test_samples_are_few_spread_out_and_older_than_a_hundred_frames(offered: set[int], capacity: int) -> None:
    kept = PastSamples(capacity)
    for number in sorted(offered):
        kept.offer(number, torch.zeros(1, 1, 1, 1), torch.zeros(4))
    numbers = kept.frames(10**6)
    assert len(numbers) <= capacity and numbers[0] == min(offered) and set(numbers) <= offered
    assert all(after - before >= kept.interval for before, after in zip(numbers, numbers[1:], strict=False))
    assert max(offered) - numbers[-1] < kept.interval, "a sample is kept as soon as one is due"
    now = max(offered) + 1
    assert kept.frames(now) == [number for number in numbers if now - number > 100]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_reports_the_margin_and_tracks_as_without(network, frames, learner: str) -> None:
    tracker_class, params_class = LEARNERS[learner]
    common = SMALL | ALWAYS_FOUND | {"learner": learner}
    tracker = tracker_class(params_class(**common, output_past_margin=True), network)
    tracker.past = PastSamples(min_age=4)
    outputs = run(tracker, frames)
    found = [output["learner"]["past_margin"] for output in outputs]
    assert found[:4] == [None] * 4 and all(np.isfinite(value) for value in found[4:])  # frames 2 to 5, then from 6 on
    silent = run(tracker_class(params_class(**common), network), frames)
    assert "past_margin" not in silent[-1]["learner"]
    np.testing.assert_array_equal(boxes(outputs), boxes(silent))


def test_the_margin_is_that_of_the_current_filter_on_old_samples(network, frames, monkeypatch) -> None:
    tracker = DimpTracker(DimpParams(**SMALL | {"train_skipping": 1}, **ALWAYS_FOUND, output_past_margin=True), network)
    tracker.past = PastSamples(min_age=4)
    stored: list[tuple[torch.Tensor, torch.Tensor]] = []
    offer = tracker.past.offer
    monkeypatch.setattr(tracker.past, "offer", lambda n, x, box: (stored.append((x.clone(), box)), offer(n, x, box)))
    last = run(tracker, frames)[-1]["learner"]["past_margin"]
    old = stored[: len(frames) - 5]  # frames 1 to n - 5 are more than four frames old at frame n
    features, places = torch.cat([x for x, _ in old]), torch.stack([box for _, box in old])
    scores = network.classifier.classify(tracker.filters, features)
    assert last == pytest.approx(float(margins(scores, places, tracker.filters.shape[-1], 16).mean()), abs=1e-6)
