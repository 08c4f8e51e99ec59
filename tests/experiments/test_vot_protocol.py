"""The VOT protocol honours what is selected: repetitions, sequences, dataset; each in a workspace of its own."""
import pytest

pytest.importorskip("vot", reason="the extra 'vot' is not installed")

from experiments.definition import Benchmark, Experiment  # noqa: E402
from experiments.report import write_report  # noqa: E402
from experiments.running import run_experiment  # noqa: E402
from experiments.selection import Selection, jobs_of  # noqa: E402
from experiments.status import status_of  # noqa: E402
from experiments.tables import get_experiment  # noqa: E402
from experiments.vot_protocol import STACKS, workspace_of  # noqa: E402
from pytracking.vot_integration.execution import open_workspace  # noqa: E402
from pytracking.vot_integration.workspace import WorkspaceError, read_stack  # noqa: E402


@pytest.fixture
def experiment():
    benchmark = Benchmark(
        dataset="vot18", trackers={"still": "identity:default"}, metrics=("accuracy", "rt_eao"), protocol="vot"
    )
    return Experiment(name="vot_tiny", title="tiny", runs=15, benchmarks=(benchmark,))


@pytest.fixture
def vot18(sequences, tmp_path, monkeypatch):
    """The two sequences as all there is of VOT2018."""
    root = tmp_path / "vot18"
    for folder in sequences.iterdir():
        (root / folder.name).mkdir(parents=True)
        (folder / "img").rename(root / folder.name / "color")
        (folder / "groundtruth_rect.txt").rename(root / folder.name / "groundtruth.txt")
    monkeypatch.setenv("PYTRACKING_VOT18_PATH", str(root))
    monkeypatch.setattr("pytracking.evaluation.datasets.base.read_names", lambda name: ["run", "walk"])
    return root


def run(experiment, **selection):
    jobs = jobs_of(experiment, Selection(**selection))
    run_experiment(experiment, jobs, workers=0, progress=False)
    return jobs


def stack_and_sequences(jobs):
    workspace = open_workspace(workspace_of(jobs[0]))
    return workspace.stack["baseline"].repetitions, sorted(workspace.dataset.list())


@pytest.mark.parametrize("dataset", STACKS)
def test_the_stacks_repeat_as_often_as_the_papers_tables(dataset):
    experiment = get_experiment("vot2016_2017" if dataset in ("vot16", "vot17") else "vot2018_2019")
    _, stack = read_stack(STACKS[dataset], None)
    assert stack["experiments"]["baseline"]["repetitions"] == experiment.runs == 15


def test_runs_and_sequences_are_honoured_and_kept_apart(experiment, vot18, results):
    some = run(experiment, runs=2, sequences=("vot18_walk",))
    assert stack_and_sequences(some) == (2, ["walk"])
    assert [(row.done, row.total) for row in status_of(some[0])] == [(2, 2)]
    fewer = run(experiment, runs=1)
    assert stack_and_sequences(fewer) == (1, ["run", "walk"])
    full = run(experiment)
    assert stack_and_sequences(full) == (15, ["run", "walk"])
    assert [(row.done, row.total) for row in status_of(full[0])] == [(30, 30)], "three equal repetitions suffice"
    assert workspace_of(full[0]) == results / "vot" / "vot18"
    assert len({workspace_of(jobs[0]) for jobs in (some, fewer, full)}) == 3
    assert "changed" not in open_workspace(workspace_of(full[0])).stack.title
    assert "changed: 1 repetitions" in open_workspace(workspace_of(fewer[0])).stack.title
    report = write_report(experiment, some)
    assert report.startswith("# tiny (scaled down: 2 instead of 15 runs; only the sequences vot18_walk)")
    assert "vot18: 1 sequences" in report and "| still | 2 |" in report
    assert write_report(experiment, full).startswith("# tiny\n")


def test_another_dataset_is_run_by_the_benchmarks_stack(experiment, sequences, results):
    jobs = run(experiment, runs=1, dataset=f"folder:{sequences}")
    assert stack_and_sequences(jobs) == (1, ["run", "walk"])
    assert workspace_of(jobs[0]).name.startswith("vot18-runs1-on_folder_sequences-")
    assert "| still | 1 |" in write_report(experiment, jobs)


def test_a_workspace_of_something_else_is_refused(experiment, vot18, results):
    folder = workspace_of(run(experiment, runs=1)[0])
    folder.rename(folder.with_name("vot18"))  # as earlier versions left it
    with pytest.raises(WorkspaceError, match="workspace of 1 repetitions and 2 sequences, but 15 and 2"):
        run(experiment)


def test_what_was_not_run_is_said(experiment, vot18, results):
    jobs = jobs_of(experiment, Selection())
    assert "- still: not run yet" in write_report(experiment, jobs)
    assert [(row.done, row.total) for row in status_of(jobs[0])] == [(0, 30)]
