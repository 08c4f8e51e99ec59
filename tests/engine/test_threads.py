"""One rule for threads."""
import cv2
import pytest
import torch

from pytracking.evaluation.tracker import Tracker
from pytracking.utils import threads
from pytracking.utils.device import wanted_engine


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("OMP_NUM_THREADS", threads.VARIABLE, "PYTRACKING_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "available_cores", lambda: 6)


def test_order_of_who_decides(monkeypatch):
    assert threads.most_threads() == 6
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads.most_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads.most_threads() == 6
    monkeypatch.setenv(threads.VARIABLE, "4")
    assert threads.most_threads() == 4
    assert threads.most_threads(2) == 2


@pytest.mark.parametrize("stated", ["0", "-1", "two"])
def test_bad_numbers_name_the_setting(monkeypatch, stated):
    monkeypatch.setenv(threads.VARIABLE, stated)
    with pytest.raises(ValueError, match="PYTRACKING_CPU_THREADS"):
        threads.most_threads()


def test_workers_share_the_cores():
    assert [threads.threads_of_each(workers) for workers in (0, 1, 2, 4, 9)] == [6, 6, 3, 1, 1]


def test_workers_get_no_more_threads_than_asked_for(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert [threads.threads_of_each(workers) for workers in (1, 2, 6)] == [2, 2, 1]
    monkeypatch.setenv(threads.VARIABLE, "1")
    assert threads.threads_of_each(1) == 1


def test_engine_by_environment(monkeypatch):
    assert wanted_engine("auto") == "auto"
    monkeypatch.setenv("PYTRACKING_ENGINE", "torch")
    assert wanted_engine("auto") == "torch" and wanted_engine("onnxruntime") == "onnxruntime"


@pytest.fixture
def several_threads():
    """The program around a tracker has two threads in torch and in OpenCV."""
    before = torch.get_num_threads(), cv2.getNumThreads()
    torch.set_num_threads(2)
    cv2.setNumThreads(2)
    yield
    torch.set_num_threads(before[0])
    cv2.setNumThreads(before[1])


def now() -> tuple[int, int]:
    return torch.get_num_threads(), cv2.getNumThreads()


@pytest.mark.filterwarnings("ignore::pytracking.evaluation.networks.FallbackWeightsWarning")
def test_a_tracker_uses_its_own_threads_and_leaves_those_of_the_program(monkeypatch, several_threads):
    tracker = Tracker("rls_dimp", "default", network="dimp_mobile").create_tracker({"cpu_threads": 2})
    assert tracker.torch_threads == 1
    seen = []
    monkeypatch.setattr(tracker, "cut_patch", lambda image: seen.append(now()) or 1 / 0)
    tracker.frame_number, tracker.state = 1, None
    for torch_threads in (2, 1):
        torch.set_num_threads(torch_threads)
        with pytest.raises(ZeroDivisionError):
            tracker.track(None)
        assert seen.pop() == (1, 1) and now() == (torch_threads, 2)


def test_trackers_without_threads_of_their_own_have_the_program_s(several_threads):
    with threads.own_torch_threads(object()):
        assert now() == (2, 2)
