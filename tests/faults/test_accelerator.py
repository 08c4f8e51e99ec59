"""Nothing waits for an accelerator without need, and nothing is made on the wrong device: proved without one.

The lists below are the places that wait, by kind of frame. A wait at any other place, a tensor on the wrong device or a
mixture of devices fails a test.
"""
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from ltr.ops import RoISampler
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.rtmdnet.roi_features import RoIFeatures
from rls_ext import InverseCorrelation, NormalEquations, virtual_input_conv, virtual_input_linear
from tests.faults.accelerator import DEVICE, moved, on_device, stand_in_accelerator

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SCORES = "pytracking/tracker/dimp/dimp.py:stages"  # the score map, once per frame
REFINEMENT = "ltr/models/bbreg/box_head.py:_as_arrays"  # values and gradients of all boxes, once per step of refinement
ROWS = "rls_ext/factored.py:_remove_zero_rows"  # when P has no room for another row
LEARNING = {  # after an update, not after other frames
    "pytracking/tracker/dimp/guard.py:find_fault": 2,  # which samples to look at, and how they fare
    "pytracking/tracker/dimp/learner.py:report": 1,  # the loss
    "rls_ext/truncation.py:relative": 1,  # how far P may be off
    ROWS: 1,  # its rank
}


# ------------------------------------------------------------------------------------------------------------ rls_ext


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("form", ["dense", "factored", "auto"])
def test_updates_of_p_wait_for_nothing(form, dtype, rows):
    with stand_in_accelerator() as waits:
        inverse = InverseCorrelation(64, delta=0.1, beta=0.99, form=form, dtype=dtype, device=DEVICE)
        for _ in range(5):
            inverse.update(on_device(rows, 64, dtype=dtype) if rows > 1 else on_device(64, dtype=dtype))
            for result in (inverse.precondition(on_device(3, 64)), inverse.precondition(on_device(64)),
                           inverse.gain(on_device(64))):
                assert result.device == DEVICE
        assert not waits.sites
        assert inverse.dense().device == DEVICE
        assert all(t.device == DEVICE for t in inverse.state_dict()["impl"].values() if isinstance(t, torch.Tensor))


def test_p_waits_when_it_needs_room_and_then_alone():
    """A basis grows by 20 rows or an eighth: a wait every 20 updates at most, to drop rows that say nothing."""
    with stand_in_accelerator() as waits:
        inverse = InverseCorrelation(2048, delta=0.1, device=DEVICE)
        for _ in range(45):
            inverse.update(on_device(2048))
            inverse.precondition(on_device(2048))
        assert set(waits.sites) == {ROWS} and waits.sites[ROWS] <= 2


@pytest.mark.parametrize("when_full", ["shift", "forget"])
def test_a_full_budget_waits_once_for_each_truncation(when_full):
    with stand_in_accelerator() as waits:
        budget = 40 * 2048 * 6
        inverse = InverseCorrelation(2048, delta=0.1, device=DEVICE, memory_budget=budget, when_full=when_full)
        for _ in range(60):
            inverse.update(on_device(2048))
            assert inverse.precondition(on_device(2048)).device == DEVICE
        assert inverse.truncations > 0
        truncation, give_up, forget = (f"rls_ext/truncation.py:{name}" for name in ("truncate", "give_up", "forget"))
        assert set(waits.sites) <= {ROWS, truncation, give_up, forget}
        assert waits.sites[truncation] == inverse.truncations


def test_normal_equations_wait_for_nothing():
    with stand_in_accelerator() as waits:
        equations = NormalEquations(64, 2, delta=0.1, beta=0.99, device=DEVICE)
        for _ in range(3):
            equations.update(on_device(5, 64), on_device(5, 2))
        solved = (equations.solve(iterations=3), equations.solve_exactly(ridge=0.1))
        assert all(each.device == DEVICE for each in (*solved, equations.product(on_device(2, 64))))
        assert not waits.sites


def test_virtual_inputs_wait_for_nothing():
    with stand_in_accelerator() as waits:
        assert virtual_input_conv(on_device(3, 8, 12, 12), 4, on_device(3, 13, 13), rooted=True).device == DEVICE
        assert virtual_input_linear(on_device(16, 64)).device == DEVICE
        assert not waits.sites


@pytest.mark.parametrize("kind", ["plain", "adaptive", "dense"])
def test_roi_sampling_waits_only_for_the_size_of_dense_boxes(kind):
    with stand_in_accelerator() as waits:
        sampler = RoISampler(3, 1 / 8, kind)
        rois = torch.cat([torch.zeros(7, 1, device=DEVICE), on_device(7, 4)], dim=1)
        assert sampler(on_device(1, 16, 20, 20), rois).device == DEVICE
        # how many cells lie between two points decides the size of what is computed
        assert waits.sites == ({"ltr/ops/roi_sampling.py:_axis_taps": 2} if kind == "dense" else {})


# ----------------------------------------------------------------------------------------------------------- trackers

IMAGE = np.random.default_rng(0).integers(0, 255, (240, 320, 3), dtype=np.uint8)
QUICK = {"image_sample_size": 128, "train_skipping": 2, "early_frames": 0, "engine": "torch", "sample_memory_size": 40}


def dimp_tracker(name: str, **changes):
    """A tracker of the DiMP family whose network is on the stand-in device; call it in the context."""
    tracker = Tracker(*name.split("/"), overrides={**QUICK, "device": "cpu"}).create_tracker()

    def there():
        return type(tracker)(dataclasses.replace(tracker.params, device=str(DEVICE)), moved(tracker.network))

    return there


FAMILY = ("dimp/dimp18", "dimp/bgd", "dimp/bgd_ema_fast", "dimp/prdimp18", "rls_dimp/default", "rls_dimp/exact",
          "rls_dimp/half_precision", "dimp/super_dimp_simple", "atom/default", "rls_atom/default")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAMILY)
def test_a_frame_waits_where_it_is_said_to(name):
    make = dimp_tracker(name)
    with stand_in_accelerator() as waits:
        tracker = make()
        tracker.initialize(IMAGE, {"init_bbox": [100, 80, 60, 50], "seed": 0})
        waits.sites.clear()
        flags, updates = [], 0
        for _ in range(4):
            output = tracker.track(IMAGE, {})
            flags.append(output["flag"])
            updates += output["learner"]["updated"]
            expected = {SCORES: 1, REFINEMENT: waits.sites[REFINEMENT]}
            allowed = LEARNING | OWN.get(name, {}) if output["learner"]["updated"] else {}
            others = {site: count for site, count in waits.sites.items() if site not in expected}
            assert waits.sites[SCORES] == 1
            assert waits.sites[REFINEMENT] <= tracker.params.box_refinement_iter + 1
            assert set(others) <= set(allowed), others
            assert all(count <= allowed[site] for site, count in others.items()), others
            waits.sites.clear()
        assert "normal" in flags and updates == 2
        assert tracker.filters.device == tracker.memory.features.device == tracker.memory.boxes.device == DEVICE


OWN = {  # waits of a learner's own, per update
    "rls_dimp/exact": {"ltr/models/target_classifier/filter_objective.py:curvature_rows": 40},  # once a new sample
    "atom/default": {"pytracking/tracker/atom/conjugate_gradient.py:solve": 1},
}


# ------------------------------------------------------------------------------------------------------------ RT-MDNet

RTMDNET = "pytracking/tracker/rtmdnet/"
FIRST_FRAME = {RTMDNET + "box_regressor.py:ridge_regression": 2}  # the regression is solved in double on the CPU
SEARCH = {RTMDNET + "rtmdnet.py:_find": 2}  # which samples are best, and how good
REGRESSION = {RTMDNET + "box_regressor.py:refine": 1}  # the boxes, if the target was found
STAGE_END = {RTMDNET + "stage_guard.py:find_fault": 1, RTMDNET + "head_learner.py:_learn": 1}  # is it sound; its loss
STATE_OF_P = {ROWS: 3, "rls_ext/truncation.py:relative": 3}  # rank and error bound of three P, for the output
MINI_BATCH = RTMDNET + "stage_guard.py:is_sound"


def rtmdnet_tracker(name: str):
    """A tracker of the RT-MDNet family whose network and head are on the stand-in device; call it in the context."""
    changes = {"device": "cpu", "update_interval": 3, "initial_iterations": 3, "update_iterations": 3}
    tracker = Tracker(*name.split("/"), overrides=changes).create_tracker()
    tracker.start_randomness(0)
    head = tracker.new_head()  # copied here, because a tensor without values cannot be

    def there():
        tracker.features = RoIFeatures(moved(tracker.network), tracker.geometry, tracker.params.scenes_per_batch)
        moved(nn.ModuleList(head.layers))
        tracker.new_head = lambda: head
        return tracker

    return there


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["rtmdnet/default", "rtmdnet/simple", "rls_rtmdnet/default"])
def test_rtmdnet_waits_where_it_is_said_to(name):
    make = rtmdnet_tracker(name)
    with stand_in_accelerator() as waits:
        tracker = make()
        tracker.initialize(IMAGE, {"init_bbox": [100, 80, 60, 50], "seed": 0})
        stage_end = STAGE_END | (STATE_OF_P if name.startswith("rls") else {})
        assert waits.sites == FIRST_FRAME | stage_end | {MINI_BATCH: 3}
        waits.sites.clear()
        kinds = []
        for frame in range(5):
            if frame == 3:  # no score is good enough from here on
                tracker.params = dataclasses.replace(tracker.params, success_threshold=1.0)
            output = tracker.track(IMAGE, {})
            kinds.append((output["flag"], output["learner"]["kind"]))
            expected = SEARCH | (REGRESSION if output["flag"] == "normal" else {})
            if output["learner"]["updated"]:
                expected |= stage_end | {MINI_BATCH: tracker.params.update_iterations}
            assert waits.sites == expected
            waits.sites.clear()
        assert kinds == [("normal", "none")] * 2 + [("normal", "regular")] + [("not_found", "occasional")] * 2
        assert all(layer.weight.device == DEVICE for layer in tracker.learner.head.layers)
        assert tracker.regressor.coefficients.device == tracker.positives.last().table.device == DEVICE
