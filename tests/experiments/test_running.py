"""An experiment end to end on two short sequences, with trackers whose scores are known."""
from dataclasses import replace

import pytest

from experiments.definition import Benchmark, Experiment
from experiments.planning import plan_job, plan_table, probed_sequences
from experiments.report import write_report
from experiments.running import NothingToRunError, run_experiment
from experiments.scoring import score_job
from experiments.selection import Selection, jobs_of
from experiments.status import status_of
from experiments.tables import get_experiment
from pytracking.evaluation.results import boxes_file, is_complete
from pytracking.evaluation.run_record import ChangedRunError


@pytest.fixture
def experiment(sequences):
    benchmark = Benchmark(
        dataset=f"folder:{sequences}",
        trackers={"RLS-oracle": "oracle:default", "still": "identity:default"},
        metrics=("success", "precision"),
        rule="strict",
    )
    return Experiment(name="tiny", title="tiny", runs=2, figure="success", benchmarks=(benchmark,))


def test_oracle_scores_one_and_a_second_run_does_nothing(experiment, results):
    jobs = jobs_of(experiment, Selection())
    (first,) = run_experiment(experiment, jobs, workers=0, progress=False)
    assert "8 sequences tracked, 0 kept" in first  # 2 trackers x 2 runs x 2 sequences
    report = write_report(experiment, jobs)
    (second,) = run_experiment(experiment, jobs, workers=0, progress=False)
    assert "0 sequences tracked, 8 kept" in second
    assert write_report(experiment, jobs_of(experiment, Selection())) == report
    values = score_job(jobs[0]).values
    assert values["RLS-oracle"]["success"] == pytest.approx([1.0, 1.0])
    assert (values["still"]["success"] < 0.7).all()
    assert (results / "reports" / "tiny" / "report.tex").exists()
    assert list((results / "reports" / "tiny").glob("*_success.png"))


def test_an_interrupted_run_ends_with_the_same_report(experiment, results):
    jobs = jobs_of(experiment, Selection())
    run_experiment(experiment, jobs, workers=0, progress=False)
    report = _without_speed(write_report(experiment, jobs))
    tracker, sequence = jobs[0].all_trackers[1], jobs[0].sequences[0]
    lost = boxes_file(tracker.results_dir, sequence.name)
    lost.write_text(lost.read_text()[:40])  # as a kill between write and rename never leaves it, but a full disk may
    assert not is_complete(tracker.results_dir, sequence.name, len(sequence))
    (summary,) = run_experiment(experiment, jobs, workers=0, progress=False)
    assert "1 sequences tracked, 7 kept" in summary
    assert _without_speed(write_report(experiment, jobs)) == report


def test_results_of_unknown_origin_are_refused_or_moved_away(experiment, results):
    jobs = jobs_of(experiment, Selection(runs=1, trackers=("still",)))
    run_experiment(experiment, jobs, workers=0, progress=False)
    folder = jobs[0].all_trackers[0].results_dir
    (folder / "run.json").unlink()
    with pytest.raises(ChangedRunError, match="--overwrite"):
        run_experiment(experiment, jobs, workers=0, progress=False)
    (summary,) = run_experiment(experiment, jobs, workers=0, progress=False, overwrite=True)
    assert "2 sequences tracked, 0 kept" in summary and "replaced" in summary


def test_a_report_says_where_the_difference_lies_and_which_command_made_it(experiment, results):
    experiment = replace(experiment, figure="differences")
    jobs = jobs_of(experiment, Selection(runs=1))
    run_experiment(experiment, jobs, workers=0, progress=False)
    selection = Selection(runs=1, trackers=("BGD-DiMP matched",))
    command = selection.run_command(get_experiment("mini"))
    assert command == "pytracking experiments run mini --runs 1 --trackers 'BGD-DiMP matched'"
    report = write_report(experiment, jobs)
    assert "Made by `pytracking experiments run tiny --runs 1`." in report
    still = score_job(jobs[0]).evaluation.tracker("still")
    by_sequence = dict(zip(("run", "walk"), score_job(jobs[0]).evaluation.sequence_scores(still)[0], strict=True))
    for name, auc in by_sequence.items():
        assert f"| {name} | 1.000 | {auc:.3f} |" in report
    difference = 1 - sum(by_sequence.values()) / 2
    assert f"| still | {difference:.3f} |" in report
    assert list((results / "reports" / "tiny-runs1").glob("*_differences.png"))


def test_a_scaled_down_report_is_neither_titled_nor_kept_as_the_full_one(experiment, results, tmp_path):
    jobs = jobs_of(experiment, Selection())
    run_experiment(experiment, jobs, workers=0, progress=False)
    full = write_report(experiment, jobs)
    kept = (results / "reports" / "tiny" / "report.md").read_text()
    assert full.startswith("# tiny\n")
    texts = set()
    for change in ({"runs": 1}, {"sequences": ("walk",)}, {"sequences": ("run",)}, {"trackers": ("still",)}):
        scaled = jobs_of(experiment, Selection(**change))
        text = write_report(experiment, scaled)
        assert text.startswith("# tiny (scaled down: ")
        texts.add(text.splitlines()[-1])
        with pytest.raises(ValueError, match="report.md holds another report.*--output"):
            write_report(experiment, scaled, results / "reports" / "tiny")
    assert len(texts) == 4, "each has a folder of its own"
    assert (results / "reports" / "tiny" / "report.md").read_text() == kept
    same = jobs_of(experiment, Selection(runs=2, trackers=("still", "RLS-oracle")))  # what the definition says anyway
    assert write_report(experiment, same) == full


def test_part_of_a_benchmark_is_not_compared_with_the_papers_number(experiment, results, monkeypatch):
    (benchmark,) = experiment.benchmarks
    rows = {"still": {f"{benchmark.dataset}/success": 0.5}}
    monkeypatch.setattr(Experiment, "published_values", lambda self: rows)
    run_experiment(experiment, jobs_of(experiment, Selection()), workers=0, progress=False)
    assert "| paper |" in write_report(experiment, jobs_of(experiment, Selection()))
    assert "| paper |" in write_report(experiment, jobs_of(experiment, Selection(runs=1)))
    assert "paper" not in write_report(experiment, jobs_of(experiment, Selection(sequences=("walk",))))


def test_one_sequence_gives_no_interval_of_the_difference(experiment, results):
    jobs = jobs_of(experiment, Selection(sequences=("walk",)))
    run_experiment(experiment, jobs, workers=0, progress=False)
    lines = write_report(experiment, jobs).splitlines()
    header = next(place for place, line in enumerate(lines) if line.startswith("| against |"))
    difference, interval, p_value = (cell.strip() for cell in lines[header + 2].split("|")[2:5])
    assert (interval, p_value) == ("-", "-") and 0 < float(difference) < 1


def _without_speed(markdown: str) -> list[str]:
    """The table's last columns are speed and memory, which the recomputed sequence changes."""
    return [line.rsplit("|", 3)[0] for line in markdown.splitlines()]


def test_plan_counts_and_status_follow_the_run(experiment, results):
    (job,) = jobs_of(experiment, Selection())
    plans = plan_job(job, workers=1, probe=False)
    frames = sum(len(sequence) for sequence in job.sequences)
    assert [(plan.sequence_runs, plan.frames, plan.done_runs) for plan in plans] == [(4, 2 * frames, 0)] * 2
    assert "hours unknown" in str(plan_table(plans, [], 1))
    run_experiment(experiment, [job], workers=0, progress=False)
    after = plan_job(job, workers=1, probe=False)
    assert [(plan.sequence_runs, plan.done_runs) for plan in after] == [(0, 4)] * 2
    assert [(row.done, row.total, row.failed) for row in status_of(job)] == [(4, 4, 0)] * 2


def test_plan_tries_a_tracker_on_the_sequences_it_will_run_on(experiment, results):
    (job,) = jobs_of(experiment, Selection(trackers=("still",)))
    (plan,) = plan_job(job, workers=1)
    assert plan.speed.source == "14 frames of 2 sequences measured now"  # 8 and 6: less than a probe's most
    # two first frames and 12 others in each of two runs
    assert plan.seconds == pytest.approx(4 * plan.speed.first_frame + 24 * plan.speed.other_frames)
    assert not results.exists() or not list(results.rglob("walk.txt")), "a probe must leave no results behind"


def test_a_plan_of_one_frame_sequences_has_no_speed_but_hours(experiment, results, sequences):
    for folder in sequences.iterdir():
        for image in sorted((folder / "img").iterdir())[1:]:
            image.unlink()
        truth = folder / "groundtruth_rect.txt"
        truth.write_text(truth.read_text().splitlines()[0] + "\n")
    (job,) = jobs_of(experiment, Selection(trackers=("still",)))
    plans = plan_job(job, workers=1)
    assert plans[0].frames == 4 and plans[0].seconds > 0
    assert "hours with 1 workers" in str(plan_table(plans, [], 1))


def test_probes_are_spread_over_the_dataset():
    assert probed_sequences(list("abcdefg")) == ["a", "d", "g"]
    assert probed_sequences(list("ab")) == ["a", "b"]


def test_selection_scales_down(experiment, results):
    (job,) = jobs_of(experiment, Selection(runs=1, trackers=("still",), sequences=("walk",)))
    assert [tracker.display_name for tracker in job.all_trackers] == ["still"]
    assert job.sequences.names == ["walk"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"trackers": ("nobody",)}, "nobody: not in 'tiny'"),
        ({"sequences": ("nowhere",)}, "nowhere: not in the datasets"),
        ({"runs": 0}, "--runs must be at least 1"),
    ],
)
def test_a_wrong_selection_is_named(experiment, results, selection, message):
    with pytest.raises(ValueError, match=message):
        jobs_of(experiment, Selection(**selection))


def test_missing_data_is_said_with_the_remedy(results):
    benchmark = Benchmark(dataset="lasot", trackers={"still": "identity:default"}, metrics=("success",))
    experiment = Experiment(name="far", title="far", runs=1, benchmarks=(benchmark,))
    jobs = jobs_of(experiment, Selection())
    with pytest.raises(NothingToRunError, match="lasot_path"):
        run_experiment(experiment, jobs, workers=0, progress=False)


def test_missing_weights_are_an_error_in_experiments(results, sequences, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path / "no_networks"))
    benchmark = Benchmark(dataset=f"folder:{sequences}", trackers={"DiMP": "dimp:dimp50"}, metrics=("success",))
    experiment = Experiment(name="strict", title="strict", runs=1, benchmarks=(benchmark,))
    with pytest.raises(NothingToRunError, match="dimp50.pth"):
        run_experiment(experiment, jobs_of(experiment, Selection()), workers=0, progress=False)


def test_a_benchmark_may_take_a_part_of_its_dataset(experiment, results):
    (benchmark,) = experiment.benchmarks
    part = replace(experiment, benchmarks=(benchmark, replace(benchmark, sequences=("run",))))
    assert [job.sequences.names for job in jobs_of(part, Selection())] == [["run", "walk"], ["run"]]
    (job,) = jobs_of(part, Selection(sequences=("walk",)))  # nothing is left of the second benchmark
    assert job.sequences.names == ["walk"]
    other = jobs_of(part, Selection(dataset=benchmark.dataset))  # the part names sequences of its own dataset
    assert [job.sequences.names for job in other] == [["run", "walk"]] * 2
