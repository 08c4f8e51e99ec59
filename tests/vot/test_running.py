"""Whole runs: workers, resumption, failures, the command line."""
import itertools
import json

import cv2
import pytest

from pytracking.__main__ import main
from pytracking.evaluation.workers import WorkerPool
from pytracking.vot_integration import execution, running
from pytracking.vot_integration.execution import VotTask, open_workspace
from pytracking.vot_integration.running import run_workspace
from pytracking.vot_integration.trackers import TrackerSpec
from pytracking.vot_integration.workspace import WorkspaceError
from tests.vot import miniature
from tests.vot.kinds_runner import KindsTaskRunner
from tests.vot.miniature import register

IDENTITY = TrackerSpec("identity", "default")


@pytest.fixture()
def miniature_trackers(monkeypatch):
    monkeypatch.setattr(running, "VotTaskRunner", KindsTaskRunner)
    monkeypatch.setattr(execution, "registered_spec", execution.registered_spec)


def trajectories(folder, tracker="Wanders", sequence="seq0"):
    workspace = open_workspace(folder)
    experiment = workspace.stack["baseline"]
    return experiment.gather(workspace.registry[tracker], workspace.dataset[sequence])


def shown(trajectory):
    return [str(region) for region in trajectory.regions()]


def wander(folder, **options):
    report = run_workspace(folder, ["Wanders"], experiments=["baseline"], progress=False, **options)
    assert not report.failures, report.summary()
    return [shown(trajectory) for trajectory in trajectories(folder)]


def test_repetitions_differ_and_every_engine_agrees(make_workspace, two_sequences, miniature_trackers):
    runs = []
    for number, options in enumerate([{"engine": "inprocess", "threads": 0}, {"engine": "trax", "threads": 0}]):
        folder = make_workspace(two_sequences, repetitions=3, name=f"ws{number}")
        register(folder, "Wanders")
        runs.append(wander(folder, **options))
    assert runs[0] == runs[1]
    assert len(runs[0]) == 3
    assert all(first != second for first, second in itertools.combinations(runs[0], 2))


def test_workers_agree_and_an_interrupted_run_goes_on(make_workspace, two_sequences, miniature_trackers):
    folder = make_workspace(two_sequences, repetitions=3)
    register(folder, "Wanders")
    complete = wander(folder, engine="inprocess", threads=0)
    results = folder / "results" / "Wanders" / "baseline" / "seq0"
    (results / "seq0_003.bin").write_bytes((results / "seq0_003.bin").read_bytes()[:20])  # what a kill leaves
    (results / "seq0_001.bin").unlink()
    assert wander(folder, engine="inprocess", threads=2) == complete


def test_a_hung_worker_is_ended_and_the_log_says_where(make_workspace, two_sequences, miniature_trackers):
    folder = make_workspace(two_sequences[1:])
    register(folder, "Hangs")
    report = run_workspace(folder, experiments=["baseline"], engine="inprocess", threads=1, timeout=2, progress=False)
    (failure,) = report.failures
    assert "no answer within 2 seconds" in failure.cause
    assert "in answer" in failure.log_file.read_text()


@pytest.mark.parametrize("engine", ["inprocess", "trax"])
def test_a_crash_ends_the_run_unless_told_otherwise(make_workspace, two_sequences, miniature_trackers, engine):
    folder = make_workspace(two_sequences)
    register(folder, "Crashes")
    options = {"experiments": ["baseline"], "engine": engine, "threads": 0, "progress": False}
    report = run_workspace(folder, **options)
    assert (report.finished, len(report.failures), report.not_started) == (0, 1, 1)
    assert "ZeroDivisionError: boom at frame 3" in report.failures[0].cause
    assert "in answer" in report.failures[0].log_file.read_text()
    assert len(run_workspace(folder, persist=True, **options).failures) == 2


def test_only_this_projects_trackers_run_in_process(make_workspace, two_sequences):
    folder = make_workspace(two_sequences[1:])
    register(folder, "Perfect")
    report = run_workspace(folder, engine="inprocess", threads=0, progress=False)
    assert "run it through TraX" in report.failures[0].cause


def test_unknown_names_are_refused(make_workspace, two_sequences):
    folder = make_workspace(two_sequences[1:], trackers=[IDENTITY])
    with pytest.raises(WorkspaceError, match="Did you mean 'identity-default'"):
        run_workspace(folder, ["identity"])
    with pytest.raises(WorkspaceError, match="Did you mean 'baseline'"):
        run_workspace(folder, experiments=["basline"])
    with pytest.raises(ValueError, match="there is no engine"):
        run_workspace(folder, engine="matlab")


def test_real_time_runs_have_the_machine_to_themselves(make_workspace, two_sequences, monkeypatch):
    pools = []

    class Pool(WorkerPool):
        def __init__(self, workers, torch_threads, runner_class):
            pools.append([workers])
            super().__init__(0, torch_threads, runner_class)

        def run(self, tasks: list[VotTask], progress):
            pools[-1].append({task.experiment for task in tasks})
            return iter(())

    monkeypatch.setattr("pytracking.evaluation.running.WorkerPool", Pool)
    run_workspace(make_workspace(two_sequences, trackers=[IDENTITY]), threads=4, progress=False)
    assert pools == [[4, {"baseline", "unsupervised"}], [1, {"realtime"}]]


def test_the_command_line_from_sequences_to_report(tmp_path, capsys, saved_figures):
    miniature.write_frames(tmp_path / "otb" / "Box" / "img", 0, 15)
    boxes = "".join("{},{},{},{}\n".format(*miniature.truth(0, frame)) for frame in range(15))
    (tmp_path / "otb" / "Box" / "groundtruth_rect.txt").write_text(boxes)
    folder = str(tmp_path / "ws")
    assert main(["vot", "init", folder, "--stack", "vot2018/shortterm", "--trackers", "identity:default"]) == 2
    assert "--sequences PATH" in capsys.readouterr().err
    source = ["--sequences", str(tmp_path / "otb"), "--eao-interval", "3", "8", "--repetitions", "1"]
    assert main(["vot", "init", folder, "--stack", "vot2018/shortterm", *source]) == 0
    assert main(["vot", "init", folder, "--trackers", "identity:default"]) == 0
    assert main(["vot", "run", folder, "--runner", "inprocess", "--workers", "0"]) == 0
    assert "3 sequences done, 0 failed" in capsys.readouterr().out
    assert main(["vot", "report", folder, "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    (row,) = json.loads((tmp_path / "ws" / "reports" / "report" / "report.json").read_text())["rows"]
    assert f"| identity:default | {row['eao']:.3f} |" in printed
    (figure,) = saved_figures
    curves, points = figure.axes
    assert curves.lines[0].get_ydata().tolist() == row["eao_curve"][1:]
    assert curves.lines[0].get_label() == f"{row['label']} [{row['eao']:.3f}]"
    assert points.collections[0].get_offsets().tolist() == [[row["reliability"], row["accuracy"]]]
    assert cv2.imread(str(tmp_path / "ws" / "reports" / "report" / "eao.png")) is not None
    assert main(["vot", "run", str(tmp_path)]) == 2
    assert "not a workspace" in capsys.readouterr().err
