"""Choosing, attaching and losing an engine; and that its threads change nothing."""
import sys
import warnings
from functools import partial

import onnxruntime
import pytest
import torch

from ltr.engine import EngineFallbackWarning, OnnxEngine, attach_engine, choose_engine, runtime
from ltr.engine.box_head import OnnxBoxHead
from ltr.engine.runtime import FIRST_RUNS, PROBE_EVERY, TRIAL_SHARE, WayChoice
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet_mobile

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return prepare_for_inference(dimpnet_mobile().eval())


@pytest.fixture(autouse=True)
def detached(network):
    yield
    network.engine = None


def test_auto_takes_onnxruntime_on_cpus_alone():
    assert choose_engine("auto", CPU) == "onnxruntime"
    assert choose_engine("torch", CPU) == "torch"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_engine("auto", torch.device("cuda")) == "torch"
    with pytest.warns(EngineFallbackWarning, match="cuda"):
        assert choose_engine("onnxruntime", torch.device("cuda")) == "torch"


class OtherDevice:
    """ONNX Runtime as it is where another provider is installed, which computes on the CPU here."""

    def __init__(self, monkeypatch, provider):
        self.asked = []
        session, providers = onnxruntime.InferenceSession, onnxruntime.get_available_providers()
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [provider, *providers])
        monkeypatch.setattr(onnxruntime, "InferenceSession", partial(self.open, session))

    def open(self, session, graph, options, providers):
        self.asked.append(providers)
        return session(graph, options, providers=providers[-1:])


@pytest.mark.parametrize(("device", "name"), [("cuda", "CUDA"), ("mps", "CoreML")])
def test_other_devices_use_their_provider_where_it_is_asked_for(network, monkeypatch, device, name):
    """The device is one without tensors, so only what is on the way to it is tried here."""
    provider = f"{name}ExecutionProvider"
    other = OtherDevice(monkeypatch, provider)
    assert choose_engine("auto", torch.device(device)) == "torch"
    assert choose_engine("onnxruntime", torch.device(device)) == "onnxruntime"
    engine = OnnxEngine(network, 2, torch.device(device))
    assert other.asked == [[provider, "CPUExecutionProvider"]] and engine.box_head is None
    engine._device = CPU
    images = torch.rand(1, 3, 64, 64)
    expected = OnnxEngine(network, 1)(images)
    for name, found in engine(images).items():
        torch.testing.assert_close(found, expected[name])


def test_a_device_that_cannot_compute_falls_back_with_one_line(network, monkeypatch):
    OtherDevice(monkeypatch, "CUDAExecutionProvider")
    with pytest.warns(EngineFallbackWarning, match="failed") as caught:
        assert attach_engine(network, "onnxruntime", torch.device("cuda"), 1) == "torch"
    assert len(caught) == 1


def test_a_wrong_box_head_is_not_used(network, monkeypatch):
    values = OnnxBoxHead.values
    monkeypatch.setattr(OnnxBoxHead, "values", lambda *args: (values(*args)[0] + 1, values(*args)[1]))
    with pytest.warns(EngineFallbackWarning, match="a box's value differs from torch"):
        assert attach_engine(network, "auto", CPU, 1) == "torch"


def test_unknown_engines_are_refused():
    with pytest.raises(ValueError, match="tensorrt.*onnxruntime"):
        choose_engine("tensorrt", CPU)


def test_without_the_package_torch_runs(network, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody asked for it
        assert attach_engine(network, "auto", CPU, 1) == "torch"
    with pytest.warns(EngineFallbackWarning, match="pip install onnxruntime"):
        assert attach_engine(network, "onnxruntime", CPU, 1) == "torch"
    assert network.engine is None


def test_a_broken_engine_falls_back_with_one_line(network, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(runtime, "make_session", fail)
    with pytest.warns(EngineFallbackWarning, match="no such instruction") as caught:
        assert attach_engine(network, "auto", CPU, 1) == "torch"
    assert len(caught) == 1 and "\n" not in str(caught[0].message)


def test_an_engine_that_computes_something_else_is_not_used(network, monkeypatch):
    compute = OnnxEngine.__call__

    def wrong(self, images):
        return {name: 1.01 * tensor for name, tensor in compute(self, images).items()}

    monkeypatch.setattr(OnnxEngine, "__call__", wrong)
    with pytest.warns(EngineFallbackWarning, match="differs from torch"):
        assert attach_engine(network, "auto", CPU, 1) == "torch"


def test_results_do_not_depend_on_threads(network):
    """So every way to run a tracker, on every machine, has the same boxes."""
    images = torch.randn(3, 3, 128, 96, generator=torch.Generator().manual_seed(0))
    single = OnnxEngine(network, 1)(images)
    several = OnnxEngine(network, 3)
    for _ in range(3 * FIRST_RUNS):  # every way to run it
        for name, tensor in several(images).items():
            assert torch.equal(tensor, single[name])


class WatchedSession:
    """ONNX Runtime's session that notes how many images each run gets."""

    seen: list[int]

    def __init__(self, session, *arguments, **options):
        self.session = session(*arguments, **options)
        self.get_outputs = self.session.get_outputs

    def run(self, outputs, inputs):
        self.seen.append(len(inputs["images"]))
        return self.session.run(outputs, inputs)


@pytest.mark.parametrize(("count", "parts"), [(1, [1]), (2, [1, 1]), (5, [2, 3])])
def test_a_batch_is_run_in_parts_and_comes_back_whole(network, monkeypatch, count, parts):
    images = torch.randn(count, 3, 64, 96, generator=torch.Generator().manual_seed(1))
    expected = OnnxEngine(network, 1)(images)
    monkeypatch.setattr(onnxruntime, "InferenceSession", partial(WatchedSession, onnxruntime.InferenceSession))
    engine, WatchedSession.seen = OnnxEngine(network, 2), []
    for name, tensor in engine(images).items():
        assert torch.equal(tensor, expected[name])
    assert sorted(WatchedSession.seen) == parts


def run(choice: WayChoice, seconds: list[float], count: int) -> list[int]:
    taken = []
    for _ in range(count):
        taken.append(choice.next())
        choice.add(taken[-1], seconds[taken[-1]])
    return taken


def test_the_fastest_way_is_found_and_others_are_tried_rarely():
    choice = WayChoice(3)
    run(choice, [2.0, 1.0, 3.0], 3 * FIRST_RUNS)
    taken = run(choice, [2.0, 1.0, 3.0], 10 * PROBE_EVERY)
    assert taken.count(1) > 0.95 * len(taken) and {0, 2} < set(taken)


def test_a_machine_that_becomes_busy_is_noticed():
    choice = WayChoice(2)
    run(choice, [1.0, 2.0], 5 * PROBE_EVERY)
    assert choice.best == 0
    run(choice, [9.0, 2.0], 5 * PROBE_EVERY)
    assert choice.best == 1
    run(choice, [1.0, 2.0], 10 * PROBE_EVERY)
    assert choice.best == 0


def test_the_first_run_of_a_way_does_not_count():
    choice = WayChoice(2)
    for seconds in (99.0, 1.0, 1.0, 2.0, 2.0, 2.0):
        choice.add(choice.next(), seconds)
    assert choice.best == 0


def test_one_run_that_takes_far_too_long_is_trial_enough():
    choice = WayChoice(2)
    assert run(choice, [1.0, 60.0], 3 * FIRST_RUNS).count(1) == 1
    assert choice.best == 0


def test_trials_that_take_long_are_rare():
    choice = WayChoice(2)
    times = [1.0, 60.0]
    run(choice, times, 2 * FIRST_RUNS)
    taken = run(choice, times, 100 * PROBE_EVERY)
    trials = taken.count(1)
    assert trials >= 2 and trials * times[1] < 2 * TRIAL_SHARE * sum(times[way] for way in taken)
