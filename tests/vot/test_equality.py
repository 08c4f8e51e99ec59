"""The toolkit's own program and the in-process runner give the same files and the same numbers."""
import json
import os
import subprocess
import sys
from pathlib import Path

from pytracking.evaluation.networks import MissingWeightsError
from pytracking.vot_integration.report import make_report
from pytracking.vot_integration.running import run_workspace
from pytracking.vot_integration.trackers import TrackerSpec
from tests.vot import miniature


def vot(*arguments: str, cwd: Path) -> str:
    """The toolkit's command line, from a folder that has nothing to do with the workspace."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "vot", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def result_files(workspace: Path) -> dict[str, bytes]:
    """Everything but the measured times."""
    files = (workspace / "results").rglob("*")
    return {
        str(file.relative_to(workspace)): file.read_bytes()
        for file in files
        if file.is_file() and not file.name.endswith("_time.value")
    }


def compare(make_workspace, tmp_path, sources, specs, repetitions) -> None:
    official = make_workspace(sources, trackers=specs, repetitions=repetitions, name="official")
    ours = make_workspace(sources, trackers=specs, repetitions=repetitions, name="ours")
    names = [spec.identifier for spec in specs]
    output = vot("evaluate", "--workspace", str(official), *names, cwd=tmp_path)
    assert "concluded successfuly" in output, output
    vot("analysis", "--workspace", str(official), "--name", "numbers", *names, cwd=tmp_path)
    report = run_workspace(ours, engine="inprocess", threads=0, progress=False)
    assert not report.failures, report.summary()
    expected, found = result_files(official), result_files(ours)
    assert expected.keys() == found.keys()
    assert [name for name in expected if expected[name] != found[name]] == []
    numbers = json.loads((official / "analysis" / "numbers.json").read_text())
    for index, row in enumerate(sorted(make_report(ours).rows, key=lambda row: names.index(row.tracker))):
        baseline, realtime, free = (numbers["results"][e]["results"] for e in ("baseline", "realtime", "unsupervised"))
        assert [row.accuracy, row.robustness] == baseline[0][index][:2]
        assert row.eao == baseline[1][index][0]
        assert row.realtime_eao == realtime[1][index][0]
        assert row.average_overlap == free[0][index][0]


def test_identity(make_workspace, tmp_path):
    sources = [
        miniature.source(tmp_path / "rectangles", 0, 16),
        miniature.source(tmp_path / "polygons", 1, 16, polygons=True),
    ]
    compare(make_workspace, tmp_path, sources, [TrackerSpec.parse("identity:default")], repetitions=4)
    vot("report", "--workspace", str(tmp_path / "official"), "--name", "page", "identity-default", cwd=tmp_path)
    assert "identity:default" in (tmp_path / "official" / "reports" / "page" / "report.html").read_text()


def rls_dimp(tmp_path: Path) -> TrackerSpec:
    """RLS-DiMP on the bundled network; without it on random weights, whose boxes are as good for a comparison."""
    try:
        return TrackerSpec.parse("rls_dimp:vot18@dimp_mobile")
    except MissingWeightsError:
        import torch

        from ltr.checkpoint import save_checkpoint
        from ltr.models.tracking.dimpnet import dimpnet_mobile

        with torch.random.fork_rng():
            torch.manual_seed(0)
            network = dimpnet_mobile()
        function = "ltr.models.tracking.dimpnet.dimpnet_mobile"
        save_checkpoint(tmp_path / "random.pth", network.state_dict(), {"function": function, "kwargs": {}})
        return TrackerSpec.parse(f"rls_dimp:vot18@{tmp_path / 'random.pth'}")


def test_opencv_and_rls_dimp(make_workspace, tmp_path):
    sources = [miniature.source(tmp_path / "f", 1, 7, polygons=True)]
    compare(make_workspace, tmp_path, sources, [TrackerSpec.parse("opencv:kcf"), rls_dimp(tmp_path)], repetitions=1)
