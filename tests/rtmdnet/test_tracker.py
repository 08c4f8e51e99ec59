"""The trackers as a whole, on a small network and small numbers of samples."""
import importlib

import numpy as np
import pytest
import torch

from ltr.checkpoint import save_checkpoint
from ltr.models.tracking.mdnet import mdnet
from pytracking.evaluation import Tracker
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rls_rtmdnet.rls_rtmdnet import RLSRtmdnetTracker
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from pytracking.tracker.rtmdnet.rtmdnet import RtmdnetTracker
from pytracking.utils.boxes import BoxError

TINY = [
    {"channels": 6, "kernel": 5, "stride": 4, "max_pool": True},
    {"channels": 8, "kernel": 3},
    {"channels": 10, "kernel": 3},
]
FEW = {
    "device": "cpu", "search_samples": 32, "initial_positives": 40, "initial_negatives": 80, "replicas": 8,
    "box_samples": 40, "frame_positives": 10, "frame_negatives": 20, "batch_positives": 8, "batch_negatives": 12,
    "mined_negatives": 24, "initial_iterations": 6, "update_iterations": 3, "update_interval": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def network_file(tmp_path_factory):
    torch.manual_seed(0)
    file = tmp_path_factory.mktemp("networks") / "tiny.pth"
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": TINY, "hidden": 16}}
    save_checkpoint(file, mdnet(spec=TINY, hidden=16).state_dict(), constructor, {})
    return file


def make_tracker(network_file, rls: bool = True, **changes):
    params = (RLSRtmdnetParams if rls else RtmdnetParams)(network_file=network_file, **{**FEW, **changes})
    return (RLSRtmdnetTracker if rls else RtmdnetTracker)(params)


def make_frames(count: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    background, target = rng.integers(0, 120, (90, 120, 3)), rng.integers(130, 255, (24, 30, 3))
    frames = []
    for number in range(count):
        frame = background.copy()
        frame[30 : 30 + 24, 40 + 2 * number : 70 + 2 * number] = target
        frames.append(frame.astype(np.uint8))
    return frames


def run(tracker, seed: int = 0, box=(40, 30, 30, 24), frames=None) -> list[dict]:
    frames = make_frames() if frames is None else frames
    tracker.initialize(frames[0], {"init_bbox": list(box), "seed": seed})
    return [tracker.track(frame) for frame in frames[1:]]


@pytest.mark.parametrize("rls", [False, True])
def test_one_seed_one_result_whatever_the_global_generators_do(network_file, rls):
    boxes = []
    for tracker, seed in ((make_tracker(network_file, rls), 5), (make_tracker(network_file, rls), 5)):
        np.random.seed(len(boxes))
        torch.manual_seed(len(boxes))
        boxes.append([output["target_bbox"] for output in run(tracker, seed)])
    assert boxes[0] == boxes[1]
    assert boxes[0] != [output["target_bbox"] for output in run(make_tracker(network_file, rls), 6)]


def test_how_many_scenes_are_in_memory_at_once_changes_nothing(network_file):
    runs = [run(make_tracker(network_file, scenes_per_batch=count)) for count in (1, 100)]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one["target_bbox"], other["target_bbox"], atol=1e-4)


def test_a_tracker_can_start_again_and_leaves_the_network_as_it_was(network_file):
    tracker = make_tracker(network_file)
    shared = {name: value.clone() for name, value in tracker.network.layers.state_dict().items()}
    first = [output["target_bbox"] for output in run(tracker, 1)]
    run(tracker, 2)
    assert first == [output["target_bbox"] for output in run(tracker, 1)]
    assert all(torch.equal(value, shared[name]) for name, value in tracker.network.layers.state_dict().items())


def test_output_of_a_frame(network_file):
    outputs = run(make_tracker(network_file, success_threshold=-1e9), frames=make_frames(5))
    for number, output in enumerate(outputs, start=1):
        assert len(output["target_bbox"]) == 4 and np.isfinite(output["target_bbox"]).all()
        assert output["flag"] == "normal" and isinstance(output["score"], float)
        learner = output["learner"]
        assert learner["kind"] == ("regular" if number % 2 == 0 else "none") and learner["updated"] == (number % 2 == 0)
        assert learner["nbytes"] > 0 and learner["num_iter"] == (3 if learner["updated"] else 0)
        assert set(learner) == {
            "updated", "num_iter", "kind", "loss", "rank", "nbytes", "error_bound", "rejected"
        }  # fmt: skip
    assert outputs[-1]["learner"]["rank"] > 0


def test_failures_widen_the_search_and_update_occasionally(network_file):
    tracker = make_tracker(network_file, success_threshold=1e9)
    outputs = run(tracker)
    assert all(o["flag"] == "not_found" and o["learner"]["kind"] == "occasional" for o in outputs)
    assert tracker.translation == tracker.params.lost_translation
    assert len(tracker.positives) == 1 and tracker.learner.backup.held


def test_first_frame_sample_counts(network_file):
    tracker = make_tracker(network_file)
    seen = []
    original = tracker.learner_class.learn_initially

    class Recorded(tracker.learner_class):
        def learn_initially(self, positives, negatives):
            seen.append((len(positives), len(negatives)))
            return original(self, positives, negatives)

    tracker.learner_class = Recorded
    tracker.initialize(make_frames(1)[0], {"init_bbox": [40, 30, 30, 24]})
    assert seen == [(40 + 8 * 5, 80 + 8 * 2)]  # as many again in the replicas, a quarter of the negatives


@pytest.mark.parametrize(
    "box", [(0, 0, 120, 90), (40, 30, 3, 3), (-10, -8, 30, 24), (100, 10, 60, 4)],
    ids=["whole image", "tiny", "partly outside", "elongated"],
)  # fmt: skip
def test_awkward_targets_are_tracked_without_error(network_file, box):
    for output in run(make_tracker(network_file), box=box, frames=make_frames(4)):
        assert np.isfinite(output["target_bbox"]).all()


def test_a_frame_of_another_size_is_taken_as_it_is(network_file):
    tracker = make_tracker(network_file)
    run(tracker, frames=make_frames(2))
    box = np.array(tracker.track(make_frames(1)[0][:60, :80])["target_bbox"])
    assert (box[:2] + box[2:] / 2 <= [80, 60]).all()


@pytest.mark.parametrize("box", [[10, 10, 0, 5], [float("nan"), 1, 2, 3], [500, 500, 20, 20]])
def test_a_box_that_cannot_be_tracked_is_refused(network_file, box):
    with pytest.raises(BoxError, match="init_bbox"):
        make_tracker(network_file).initialize(make_frames(1)[0], {"init_bbox": box})


def test_debug_views_are_refused(network_file):
    with pytest.raises(ValueError, match="debug"):
        make_tracker(network_file, debug=1)


def test_without_a_network_the_error_says_what_to_do():
    with pytest.raises(ValueError, match="set params.network_file"):
        RtmdnetTracker(RtmdnetParams(device="cpu"))


def test_recommendations_of_the_network_file_are_followed(network_file, tmp_path):
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": TINY, "hidden": 16}}
    state = mdnet(spec=TINY, hidden=16).state_dict()
    save_checkpoint(tmp_path / "good.pth", state, constructor, {"tracker": {"padding": 1.5}})
    good = Tracker("rls_rtmdnet", "default", network=str(tmp_path / "good.pth"))
    assert good.create_tracker({"device": "cpu"}).params.padding == 1.5
    assert good.create_tracker({"device": "cpu", "padding": 1.2}).params.padding == 1.2
    save_checkpoint(tmp_path / "bad.pth", state, constructor, {"tracker": {"serach_samples": 17}})
    with pytest.raises(AttributeError, match="serach_samples"):
        Tracker("rtmdnet", "rtmdnet", network=str(tmp_path / "bad.pth")).create_tracker()


@pytest.mark.parametrize(
    ("module", "wanted"),
    [
        ("rtmdnet.rtmdnet", {"long_term": 100, "weight_backup": "none", "shared_momentum": True}),
        ("rtmdnet.simple", {"long_term": 20, "weight_backup": "copy", "shared_momentum": False}),
        ("rls_rtmdnet.default", {"delta": (5e-4,) * 3, "beta": 1.0, "initial_rate": 1e-4, "regular_rate": 3e-4,
                                 "clip": "after", "decay": "preconditioned", "weight_backup": "copy"}),
        ("rls_rtmdnet.clip_before", {"clip": "before", "decay": "preconditioned", "weight_backup": "copy"}),
        ("rls_rtmdnet.cvpr20", {"delta": (1.0,) * 3, "initial_rate": 0.01, "regular_rate": 0.01,
                                "last_layer_rate": 10}),
        ("rls_rtmdnet.reference", {"clip": "after", "decay": "plain", "virtual_input": "before_dropout",
                                   "weight_backup": "alias", "delta": (5e-4,) * 3}),
    ],
)  # fmt: skip
def test_parameter_files(module, wanted):
    params = importlib.import_module(f"pytracking.parameter.{module}").parameters()
    assert {name: getattr(params, name) for name in wanted} == wanted
    assert (params.weights, params.fallback_weights) == ("rt-mdnet.pth", "rtmdnet_small")


def test_simple_differs_from_rls_only_in_the_learner():
    simple = importlib.import_module("pytracking.parameter.rtmdnet.simple").parameters()
    rls = importlib.import_module("pytracking.parameter.rls_rtmdnet.default").parameters()
    names = [name for name in RtmdnetParams.__dataclass_fields__]
    assert {name: getattr(simple, name) for name in names} == {name: getattr(rls, name) for name in names}
