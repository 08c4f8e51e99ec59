"""Trackers that go wrong, run by the toolkit's TraX client: the run ends, and the log names the cause."""
import pytest
from vot.experiment import run_experiment
from vot.tracker import TrackerException

from pytracking.vot_integration.execution import open_workspace
from tests.vot.miniature import register


@pytest.fixture()
def evaluate(make_workspace, two_sequences):
    """Runs the toolkit's own loop with a kind of :mod:`miniature`; returns the workspace."""

    def run(kind: str, timeout: int = 60):
        folder = make_workspace(two_sequences[1:])
        register(folder, kind, timeout=timeout)
        workspace = open_workspace(folder)
        run_experiment(workspace.stack["baseline"], workspace.registry[kind], workspace.dataset)
        return workspace

    return run


def the_log(tmp_path) -> str:
    (log,) = (tmp_path / "workspace" / "logs").iterdir()
    return log.read_text()


@pytest.mark.parametrize(
    ("kind", "cause", "place"),
    [
        ("Crashes", "ZeroDivisionError: boom at frame 3", "in answer"),
        ("ReturnsNaN", "00000004.png: the tracker returned the box [nan, nan, nan, nan]", "in box_of_output"),
        ("DiesInNativeCode", "Segmentation fault", "in answer"),
        ("CannotLoad", "FileNotFoundError: there is no network 'dimp99.pth'", "in __init__"),
    ],
)
def test_the_log_has_the_cause_and_the_stack(evaluate, tmp_path, kind, cause, place):
    with pytest.raises(TrackerException):
        evaluate(kind)
    log = the_log(tmp_path)
    assert cause in log and place in log


@pytest.mark.parametrize(("kind", "place"), [("Hangs", "in answer"), ("HangsWhileLoading", "in __init__")])
def test_a_tracker_that_hangs_is_ended_and_the_log_says_where(evaluate, tmp_path, kind, place):
    with pytest.raises(TrackerException):
        evaluate(kind, timeout=3)
    log = the_log(tmp_path)
    assert "Timeout" in log and place in log


def test_an_error_while_loading_does_not_look_like_a_lost_connection(evaluate, caplog):
    with pytest.raises(TrackerException), caplog.at_level("ERROR", "vot"):
        evaluate("CannotLoad")
    assert "dimp99.pth" in caplog.text and "nable to connect" not in caplog.text


def test_unfinished_lines_do_not_disturb_the_protocol(evaluate):
    workspace = evaluate("Chatters")
    (trajectory,) = workspace.stack["baseline"].gather(workspace.registry["Chatters"], workspace.dataset["seq1"])
    assert len(trajectory) == 8
