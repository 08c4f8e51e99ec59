"""docs/pytracking_users.md against the layer: what is there, what is not, and the arguments that scripts rely on."""
from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from ltr.errors import UserError
from pytracking.run_video import run_video

PAGE = (Path(__file__).parents[2] / "docs" / "pytracking_users.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| (same|changed|not here) \|", PAGE, re.MULTILINE)
# The first arguments of pytracking's functions, in its order; ours may take more after them.
ARGUMENTS = {
    "evaluation.trackerlist": "name parameter_name run_ids display_name",
    "evaluation.Tracker": "name parameter_name run_id display_name",
    "evaluation.get_dataset_attributes": "name mode",
    "evaluation.datasets.load_dataset": "name",
    "evaluation.data.Sequence": "name frames dataset ground_truth_rect ground_truth_seg init_data object_class "
    "target_visible object_ids multiobj_mode",
    "evaluation.multi_object_wrapper.MultiObjectWrapper": "base_tracker_class params visdom fast_load",
    "evaluation.running.run_dataset": "dataset trackers debug threads visdom_info",
    "evaluation.running.run_sequence": "seq tracker debug visdom_info",
    "features.net_wrappers.NetWrapper": "net_path use_gpu initialize",
    "features.net_wrappers.NetWithBackbone": "net_path use_gpu initialize image_format mean std",
    "features.preprocessing.sample_patch": "im pos sample_sz output_sz mode max_scale_change is_mask",
    "features.preprocessing.sample_patch_multiscale": "im pos scales image_sz mode max_scale_change",
    "features.preprocessing.sample_patch_transformed": "im pos scale image_sz transforms is_mask",
    "features.augmentation.Identity": "output_sz shift",
    "features.augmentation.Blur": "sigma output_sz shift",
    "libs.dcf.hann2d_clipped": "sz effective_sz centered",
    "libs.dcf.label_function_spatial": "feat_sz sigma center end_pad",
    "analysis.extract_results.extract_results": "trackers dataset report_name skip_missing_seq plot_bin_gap "
    "exclude_invalid_frames verbose",
    "analysis.playback_results.playback_results": "trackers sequence",
    "analysis.plot_results.print_results": "trackers dataset report_name merge_results plot_types",
    "analysis.plot_results.print_results_per_attribute": "trackers datasets report_name merge_results verbose",
    "analysis.plot_results.plot_got_success": "trackers report_name",
    "util_scripts.pack_got10k_results.pack_got10k_results": "tracker_name param_name output_name",
    "util_scripts.pack_trackingnet_results.pack_trackingnet_results": "tracker_name param_name run_id output_name",
    "run_tracker.run_tracker": "tracker_name tracker_param run_id dataset_name sequence debug threads visdom_info",
    "run_video.run_video": "tracker_name tracker_param videofile optional_box debug save_results",
    "run_webcam.run_webcam": "tracker_name tracker_param debug visdom_info",
    "run_experiment.run_experiment": "experiment_module experiment_name debug threads",
    "run_vot.run_vot": "tracker_name tracker_param run_id",
    "run_vot.run_vot2020": "tracker_name tracker_param run_id debug visdom_info",
}


def find(name: str) -> object:
    module, attribute = name.rsplit(".", 1)
    return getattr(importlib.import_module(module), attribute)


def test_the_table_has_every_name_once():
    names = [name for name, _ in ROWS]
    assert len(names) == len(set(names)) > 80
    assert {f"pytracking.{name}" for name in ARGUMENTS} <= set(names)


@pytest.mark.parametrize(("name", "status"), ROWS)
def test_the_table_is_true(name, status):
    if status == "not here":
        with pytest.raises((ImportError, AttributeError)):
            find(name)
    else:
        assert callable(find(name))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_come_in_pytrackings_order(name):
    expected = ARGUMENTS[name].split()
    parameters = inspect.signature(find(f"pytracking.{name}")).parameters.values()
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert by_place[: len(expected)] == expected


def test_visdom_and_several_gpus_say_what_to_use():
    from ltr import MultiGPU
    from pytracking.utils.visdom import Visdom

    with pytest.raises(UserError, match="pytracking serve"):
        Visdom(1, {})
    with pytest.raises(UserError, match="torchrun"):
        MultiGPU(None, dim=0)


def test_tensor_lists():
    from pytracking import TensorList, operation

    values = TensorList([torch.ones(2), torch.full((3,), 2.0)])
    assert [each.tolist() for each in 1 - values * values] == [[0, 0], [-3, -3, -3]]
    assert (values + TensorList([1, 2])).sum().list() == [4, 12] and values.size(0) == TensorList([2, 3])
    values += 1
    assert values[1].tolist() == [3, 3, 3] and values.attribute("ndim") == [1, 1]
    assert TensorList([values, TensorList([torch.zeros(1)])]).unroll().size(0) == [2, 3, 1]
    images, filters = TensorList([torch.ones(1, 1, 5, 5)]), TensorList([torch.ones(1, 1, 4, 4)])
    assert operation.conv2d(images, filters, mode="same")[0].shape == (1, 1, 5, 5)


def test_fourier_series_sample_shift_and_add():
    from pytracking import TensorList, fourier

    generator = torch.Generator().manual_seed(0)
    maps = torch.randn(1, 1, 7, 9, generator=generator, dtype=torch.float64)
    series = fourier.cfft2(maps) / maps[0, 0].numel()
    torch.testing.assert_close(fourier.sample_fs(series), maps)
    torch.testing.assert_close(fourier.sample_fs(series, torch.tensor([21, 27]))[..., ::3, ::3], maps)
    moved = fourier.shift_fs(series, 2 * torch.pi * torch.tensor([2 / 7, -3 / 9]))
    torch.testing.assert_close(fourier.sample_fs(moved), maps.roll((-2, 3), (-2, -1)), atol=1e-6, rtol=0)
    constant = fourier.cfft2(torch.full((1, 1, 3, 3), 5.0, dtype=torch.float64)) / 9
    torch.testing.assert_close(fourier.sample_fs(fourier.sum_fs(TensorList([series, constant]))), maps + 5)


def test_gauss_newton_solves_a_linear_problem_at_once():
    from pytracking import TensorList, optimization

    generator = torch.Generator().manual_seed(0)
    matrix, right = torch.randn(8, 5, generator=generator).double(), torch.randn(8, generator=generator).double()

    class Linear(optimization.L2Problem):
        def __call__(self, x):
            return TensorList([matrix @ torch.cat([x[0], x[1]]) - right])

    variable = TensorList([torch.zeros(2).double(), torch.zeros(3).double()])
    first = variable[0]
    optimization.GaussNewtonCG(Linear(), variable).run(5, 1)
    expected = torch.linalg.lstsq(matrix, right[:, None]).solution[:, 0]
    torch.testing.assert_close(torch.cat([*variable]), expected)
    assert first is variable[0], "the caller's tensors are changed"


def test_patches_are_those_of_our_trackers():
    from pytracking.features.crop import sample_patch as ours
    from pytracking.features.preprocessing import numpy_to_torch, sample_patch, torch_to_numpy

    image = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    tensor = numpy_to_torch(image)
    assert np.array_equal(torch_to_numpy(tensor), image)
    size = torch.tensor([32.0, 32.0])
    patch, corners = sample_patch(tensor, torch.tensor([20.0, 10.0]), 1.5 * size, size)
    expected, crop = ours(image, np.array([20.0, 10.0]), 1.5, np.array([32, 32]))
    torch.testing.assert_close(patch, expected)
    assert corners[0].tolist() == crop.corners.tolist()
    assert sample_patch(tensor, torch.tensor([20.0, 10.0]), torch.tensor([7.0, 9.0]))[0].shape == (1, 3, 7, 9)


def test_several_objects_by_dictionary():
    from pytracking.evaluation.discovery import load_parameters, tracker_class
    from pytracking.evaluation.multi_object_wrapper import MultiObjectWrapper

    frame = np.zeros((40, 60, 3), np.uint8)
    tracker = MultiObjectWrapper(tracker_class("identity"), load_parameters("identity", "default"))
    boxes = {"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]}
    out = tracker.initialize(frame, {"init_bbox": boxes, "init_object_ids": ["a", "b"], "object_ids": ["a", "b"]})
    assert out["target_bbox"] == boxes
    out = tracker.track(frame, {"init_bbox": {"c": [9, 9, 9, 9]}, "init_object_ids": ["c"]})
    assert out["target_bbox"] == {**boxes, "c": [9, 9, 9, 9]}
    assert tracker.track(frame)["target_bbox"] == out["target_bbox"]


def test_sequences_of_several_objects(tmp_path):
    from pytracking.evaluation.data import Sequence, SequenceList

    boxes = {"1": np.tile([1.0, 2, 3, 4], (5, 1)), "2": np.tile([5.0, 6, 7, 8], (5, 1))}
    start = {0: {"bbox": {"1": [1, 2, 3, 4]}}, 2: {"bbox": {"2": [5, 6, 7, 8]}}}
    frames = [str(tmp_path / f"{index}.png") for index in range(5)]
    sequence = Sequence("video", frames, "mine", boxes, init_data=start, object_ids=["1", "2"], multiobj_mode=True)
    assert sequence.init_info()["init_bbox"] == {"1": [1, 2, 3, 4]}
    assert sequence.frame_info(2) == {"init_bbox": {"2": [5, 6, 7, 8]}, "init_object_ids": ["2"]}
    assert sequence.frame_info(1) == {}
    assert [(one.name, len(one), one.init_bbox()) for one in sequence.by_object()] == [
        ("video_1", 5, [1, 2, 3, 4]), ("video_2", 3, [5, 6, 7, 8]),
    ]  # fmt: skip
    assert [one.name for one in SequenceList([sequence, sequence, sequence])[[0, 2]]] == ["video", "video"]


def test_run_video_is_a_function(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path))
    import cv2

    (tmp_path / "frames").mkdir()
    for index in range(3):
        cv2.imwrite(str(tmp_path / "frames" / f"{index}.png"), np.full((40, 60, 3), 90, np.uint8))
    assert run_video("identity", "default", str(tmp_path / "frames"), [1, 2, 30, 20], 0, True, display=False) == 0
    assert len((tmp_path / "identity" / "default" / "videos" / "frames.txt").read_text().splitlines()) == 3
