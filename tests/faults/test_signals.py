"""Commands that are asked to end: what is done is kept, and no temporary file stays."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import pytest

from ltr.errors import exit_code
from pytracking.evaluation.results import read_boxes
from tests.video.test_run_video import write_video

ROOT = Path(__file__).parents[2]
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.fixture(autouse=True)
def usual_signals():
    """A suite under nohup ignores SIGHUP."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDINGS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def wait_until(condition, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, "it ended or did not begin"
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without asking it")
def test_sigterm_keeps_the_video_and_leaves_no_temporary_file(tmp_path):
    video, output = write_video(tmp_path / "clip.avi", 4000), tmp_path / "out" / "tracked.avi"
    what = ["identity/default", str(video), "--box", "20", "15", "30", "24", "--output", str(output), "--save-results"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTRACKING_RESULTS_PATH": str(tmp_path / "results")}
    command = [sys.executable, "-m", "pytracking", "video", *what, "--no-display"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(path.stat().st_size > 0 for path in output.parent.glob(".tracked*")), process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and "stopped by: interrupted" in said
    assert [path.name for path in output.parent.iterdir()] == ["tracked.avi"]
    (boxes,) = (tmp_path / "results").rglob("clip.txt")
    frames = int(cv2.VideoCapture(str(output)).get(cv2.CAP_PROP_FRAME_COUNT))
    assert 0 < frames < 4000 and abs(len(read_boxes(boxes)) - frames) <= 1


@pytest.mark.parametrize("number", ENDINGS, ids=lambda number: number.name)
def test_a_command_is_ended_once(number, capsys):
    tidied = []

    def command():
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)  # a second one comes while it tidies
            tidied.append(True)

    assert exit_code(command) == 128 + number
    assert tidied and "interrupted" in capsys.readouterr().err
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None], ids=["ignored", "handled"])
def test_what_others_say_of_a_signal_counts(handler):
    signal.signal(ENDINGS[-1], handler)
    assert exit_code(lambda: signal.raise_signal(ENDINGS[-1])) == 0
