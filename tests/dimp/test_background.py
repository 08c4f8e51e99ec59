"""Learning in the background while the next frame is processed: it must not change any output."""
import copy
import pickle
import threading

import pytest
import torch

from ltr.engine import attach_engine
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker
from pytracking.utils.threads import own_torch_threads

OPTIONS = {
    "device": "cpu", "image_sample_size": 96, "sample_memory_size": 20, "net_opt_iter": 2, "train_skipping": 3,
    "target_not_found_threshold": -1e9, "distractor_threshold": 1e9, "hard_negative_threshold": 1e9,
}  # fmt: skip
FIRST = {"init_bbox": [40, 30, 24, 20]}


@pytest.fixture(scope="module")
def with_engine(network):
    other = copy.deepcopy(network)
    assert attach_engine(other, "onnxruntime", torch.device("cpu"), 2) == "onnxruntime"
    return other


@pytest.fixture
def torch_threads():
    """Sets torch to one thread, as the tracker would, for a test."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make(network, threads: int, **options) -> DimpTracker:
    return RLSDimpTracker(RLSDimpParams(**OPTIONS, **options, cpu_threads=threads), network)


class SlowLearner:
    """Makes a tracker's learner wait for `go`, and records the threads that it runs in."""

    def __init__(self, tracker: DimpTracker) -> None:
        self.go, self.threads = threading.Event(), []
        self._update = tracker.learner.update
        tracker.learner.update = self

    def __call__(self, *args):
        self.threads.append(threading.current_thread())
        assert self.go.wait(20)
        return self._update(*args)


@pytest.mark.parametrize("block_input", ["virtual", "block"])  # the latter draws from the tracker's generator
def test_boxes_and_outputs_are_the_same(with_engine, frames, torch_threads, block_input):
    runs = []
    for threads in (1, 2):
        tracker = make(with_engine, threads, block_input=block_input)
        tracker.initialize(frames[0], FIRST)
        outputs = [tracker.track(frame) for frame in frames[1:]]
        runs.append([(output["target_bbox"], output["score"], dict(output["learner"])) for output in outputs])
    assert runs[0] == runs[1]
    assert any(learner["updated"] for _, _, learner in runs[0])


def test_output_is_returned_before_the_update_ends(with_engine, frames, torch_threads):
    tracker = make(with_engine, 2)
    tracker.initialize(frames[0], FIRST)
    slow, before = SlowLearner(tracker), tracker.filters
    outputs = [tracker.track(frame) for frame in frames[1:4]]  # an update follows the third
    assert [type(output["learner"]) is dict for output in outputs] == [True, True, False]
    slow.go.set()
    assert outputs[-1]["learner"]["updated"] and outputs[-1]["learner"]["rank"] == 1
    assert not torch.equal(tracker.filters, before)
    assert slow.threads[0] is not threading.current_thread()
    assert pickle.loads(pickle.dumps(outputs[-1]["learner"])) == dict(outputs[-1]["learner"])


def test_the_next_scores_wait_for_the_update(with_engine, frames, torch_threads):
    tracker = make(with_engine, 2)
    tracker.initialize(frames[0], FIRST)
    slow = SlowLearner(tracker)
    for frame in frames[1:4]:
        tracker.track(frame)
    later = threading.Thread(target=tracker.track, args=(frames[4],))
    later.start()
    later.join(0.3)
    assert later.is_alive()
    slow.go.set()
    later.join(20)
    assert not later.is_alive()


def test_an_error_is_raised_at_the_next_frame(with_engine, frames, torch_threads):
    tracker = make(with_engine, 2)
    tracker.initialize(frames[0], FIRST)

    def fail(*args):
        raise ArithmeticError("learning failed")

    tracker.learner.update = fail
    for frame in frames[1:4]:
        output = tracker.track(frame)
    with pytest.raises(ArithmeticError, match="learning failed"):
        tracker.track(frames[4])
    with pytest.raises(ArithmeticError, match="learning failed"):
        output["learner"]["loss"]
    tracker.initialize(frames[0], FIRST)  # the error is raised only once; a new target can be tracked


def test_nothing_is_left_running_if_torch_has_other_threads(with_engine, frames):
    """Torch's number of threads is global: it cannot be restored while an update runs."""
    tracker = make(with_engine, 2)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        tracker.initialize(frames[0], FIRST)
        seen, learnt, update = [], [], tracker.learner.update

        def watched(*args):
            found = update(*args)
            seen.append(torch.get_num_threads())
            return found

        tracker.learner.update = watched
        for frame in frames[1:5]:
            tracker.track(frame)
            learnt.append(len(seen))
            assert torch.get_num_threads() == 3
        assert learnt == [0, 0, 1, 1] and seen == [1]
        with own_torch_threads(tracker):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_with_one_thread_learning_is_not_in_the_background(with_engine, frames, torch_threads):
    tracker = make(with_engine, 1)
    tracker.initialize(frames[0], FIRST)
    slow = SlowLearner(tracker)
    slow.go.set()
    for frame in frames[1:4]:
        assert type(tracker.track(frame)["learner"]) is dict
    assert slow.threads == [threading.current_thread()]
