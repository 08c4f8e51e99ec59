"""The memory probe: what a margin is, which frames belong to which span, and a small run from the command's side."""
import json

import cv2
import numpy as np
import pytest
import torch

from experiments.__main__ import main
from experiments.families import of_family
from experiments.memory_probe import Schedule, margins, remembered, walk_along
from experiments.memory_report import FIRST_FILTER, run_memory_probe
from experiments.running import NothingToRunError
from experiments.selection import Selection, jobs_of
from experiments.tables import get_experiment
from ltr.models.target_classifier.filtering import apply_filter
from pytracking.evaluation import get_dataset

SMALL = Schedule(every=4, frames=4, past=6)
FRAMES = 20


@pytest.fixture
def folder(tmp_path):
    """Two sequences of a square over noise whose texture changes slowly; one has a frame without a box."""
    rng = np.random.default_rng(0)
    for name, step in (("a", 2), ("b", 1)):
        images = tmp_path / "data" / name / "img"
        images.mkdir(parents=True)
        background = rng.integers(0, 120, (90, 140, 3), np.uint8)
        before, after = rng.integers(100, 255, (2, 24, 30, 3)).astype(float)
        boxes = []
        for index in range(FRAMES):
            x, y = 20 + step * index, 30 + index // 2
            image = background.copy()
            image[y : y + 24, x : x + 30] = before + (after - before) * index / FRAMES
            cv2.imwrite(str(images / f"{index + 1:04d}.png"), image)
            boxes.append("NaN,NaN,NaN,NaN" if (name, index) == ("b", 7) else f"{x + 1},{y + 1},30,24")
        (tmp_path / "data" / name / "groundtruth_rect.txt").write_text("\n".join(boxes) + "\n")
    return f"folder:{tmp_path / 'data'}"


def job_on(folder, *labels, family=None):
    experiment = get_experiment("memory")
    experiment = experiment if family is None else of_family(experiment, family)
    return experiment, jobs_of(experiment, Selection(dataset=folder, trackers=labels))[0]


def test_a_margin_is_the_score_at_the_target_minus_the_highest_elsewhere():
    scores = torch.zeros(3, 9, 9)
    scores[:, 4, 4] = torch.tensor([1.0, 1.0, 0.2])  # the target's cell
    scores[:, 4, 6] = 5.0  # too near to be elsewhere
    scores[:, 0, 8] = torch.tensor([0.25, 1.5, 0.0])
    box = torch.tensor([4.0 * 16, 4.0 * 16, 16.0, 16.0]).expand(3, 4)
    found = margins(scores, box, 1, 16)
    torch.testing.assert_close(found, torch.tensor([0.75, -0.5, 0.2]))


def test_spans_never_mix_what_was_seen_with_what_was_not():
    schedule = Schedule()
    trials = dict(schedule.trials(400))
    assert min(trials) == 125 and max(trials) == 375 and len(trials) == 11
    for seen, spans in trials.items():
        assert max(spans["past"]) < seen - schedule.past and min(spans["past"]) == 0
        assert spans["recent"] == list(range(seen - 25, seen)) and spans["next"] == list(range(seen, seen + 25))
    assert not list(schedule.trials(schedule.shortest - 1)) and list(schedule.trials(schedule.shortest))


def test_samples_are_those_of_a_tracker_that_never_errs(folder):
    _, job = job_on(folder, "exact")
    tracker = job.trackers["exact"][0].create_tracker()
    walks = [walk_along(sequence, tracker, SMALL) for sequence in get_dataset(folder)]
    assert [len(walk.features) for walk in walks] == [FRAMES - 1, FRAMES - 2]
    centres = walks[0].boxes[:, :2] + walks[0].boxes[:, 2:] / 2
    size = tracker.params.image_sample_size
    middle = size / 2 - tracker.sample_offset[1]  # where a target that does not move appears
    assert bool(((centres - middle).abs() < 0.2 * size).all()) and bool((centres[:, 0] > middle).any())
    first = remembered(walks[0], tracker, SMALL, learns=False)
    scores = apply_filter(walks[0].features[None], walks[0].filters)[0]
    kernel, stride = walks[0].filters.shape[-1], tracker.network.feature_stride
    expected = margins(scores, walks[0].boxes, kernel, stride).numpy()
    for row, spans in enumerate(dict(SMALL.trials(FRAMES - 1)).values()):
        for span, frames in spans.items():
            np.testing.assert_allclose(first[span][row], expected[frames], rtol=1e-5, atol=1e-6)
    learnt = remembered(walks[0], tracker, SMALL)
    assert learnt["recent"].mean() > first["recent"].mean()
    again = remembered(walks[0], tracker, SMALL)
    assert all(np.array_equal(learnt[span], again[span]) for span in learnt)


def test_a_report_of_two_learners(folder, results, saved_figures):
    experiment, job = job_on(folder, "BGD-DiMP", "exact")
    text = run_memory_probe(experiment, job, SMALL)
    reports = list((results / "reports").iterdir())
    assert len(reports) == 1 and reports[0].name.startswith("memory-")
    stored = json.loads((reports[0] / "values.json").read_text())
    assert stored["sequences"] == ["a", "b"] and set(stored["values"]) == {FIRST_FILTER, "BGD-DiMP", "exact"}
    for kinds in stored["values"].values():
        assert all(len(each) == 2 and np.isfinite(each).all() for each in kinds.values())
    assert (reports[0] / "memory.png").is_file()
    (axes,) = saved_figures[0].axes
    shown = {line.get_label(): line.get_xydata()[0] for line in axes.lines if not line.get_label().startswith("_")}
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert all(left < x < right and bottom < y < top for x, y in shown.values())
    assert set(shown) == set(stored["values"])
    for label, found in stored["values"].items():
        assert shown[label] == pytest.approx([np.mean(found["next margin"]), np.mean(found["past margin"])])
    assert "exact minus the others" in text and "± :" in text


@pytest.mark.parametrize(("family", "title"), [("prdimp", "PrDiMP"), ("super_dimp", "SuperDiMP"), ("atom", "ATOM")])
def test_every_family_can_be_probed(folder, results, family, title):
    experiment, job = job_on(folder, f"RLS-{title}", "exact", family=family)
    run_memory_probe(experiment, job, SMALL)
    (report,) = (results / "reports").iterdir()
    assert report.name.startswith(f"memory_{family}")
    values = json.loads((report / "values.json").read_text())["values"]
    assert set(values) == {FIRST_FILTER, f"RLS-{title}", "exact"}
    for label in (f"RLS-{title}", "exact"):
        assert np.isfinite(values[label]["past margin"]).all()
        assert values[label]["past margin"] != values[FIRST_FILTER]["past margin"]
    assert np.mean(values["exact"]["recent margin"]) > np.mean(values[FIRST_FILTER]["recent margin"])


def test_a_sequence_with_too_few_boxes_is_left_out(folder, results):
    exactly = Schedule(every=4, frames=4, past=6 + FRAMES - 1 - SMALL.shortest)
    assert exactly.shortest == FRAMES - 1, "all frames of a, one more than b has boxes for"
    experiment, job = job_on(folder, "exact")
    run_memory_probe(experiment, job, exactly)
    (report,) = (results / "reports").iterdir()
    assert json.loads((report / "values.json").read_text())["sequences"] == ["a"]


def test_what_cannot_be_probed_is_said(folder, results, capsys):
    experiment, job = job_on(folder, "exact")
    with pytest.raises(NothingToRunError, match="150 frames"):
        run_memory_probe(experiment, job)
    assert main(["plan", "memory", "--no-probe", "--dataset", folder]) == 2
    assert "pytracking experiments run memory" in capsys.readouterr().err
    tracker = job.trackers["exact"][0].create_tracker()
    with pytest.raises(ValueError, match="151 frames"):
        walk_along(get_dataset(folder)[0], tracker, Schedule())
