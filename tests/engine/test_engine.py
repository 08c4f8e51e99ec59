"""Choosing, attaching and losing an engine; and that its threads change nothing."""
import sys
import warnings

import pytest
import torch

from ltr.engine import EngineFallbackWarning, OnnxEngine, attach_engine, choose_engine, runtime
from ltr.engine.runtime import FIRST_RUNS, PROBE_EVERY, WayChoice
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
