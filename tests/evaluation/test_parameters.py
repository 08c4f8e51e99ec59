"""Parameters mean what they say: what is stated wins, what runs is recorded, and compared trackers stay comparable."""
from __future__ import annotations

import copy
import functools
import json
import pickle
import warnings
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest
import torch

import ltr
from experiments.tables import experiment_names, get_experiment
from ltr.checkpoint import FORMAT, read_checkpoint, save_checkpoint
from ltr.errors import UserError
from pytracking import run_tracker
from pytracking.evaluation import Tracker
from pytracking.evaluation.discovery import parameter_names
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError, recommendations
from pytracking.evaluation.parameters import UnknownParameterError
from pytracking.evaluation.reference import TrackerReference
from pytracking.evaluation.run_record import RECORD_NAME, recorded_parameters
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.tasks import Outcome, TaskRunner
from pytracking.tracker.base import TrackerParams, with_recommendations
from pytracking.tracker.dimp.network import load_dimp_network
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.utils.files import sha256

BUNDLED = Path(ltr.__file__).parent / "bundled"
FAMILIES = {"dimp_mobile": ("dimp", "rls_dimp"), "rtmdnet_small": ("rtmdnet", "rls_rtmdnet")}
FILES = [(network, name, param) for network, family in FAMILIES.items() for name in family
         for param in parameter_names(name)]  # fmt: skip
MATCHED = "BGD-DiMP matched"


def recommended_everywhere() -> dict[str, object]:
    """A value for each of DiMP's parameters that a network may recommend, another than the class has."""
    values = {}
    for each in fields(DimpParams):
        default = each.default if each.default_factory is MISSING else None
        if each.name in TrackerParams.__dataclass_fields__ or not each.metadata.get("recommended", True):
            continue
        if isinstance(default, bool):
            values[each.name] = not default
        elif isinstance(default, (int, float)):
            values[each.name] = type(default)(2 * default + 1)
    return values


@pytest.fixture
def eager(tmp_path: Path) -> str:
    """The bundled network with an opinion on everything."""
    bundled = read_checkpoint(BUNDLED / "dimp_mobile.pth")
    file = tmp_path / "networks" / "eager.pth"
    save_checkpoint(file, bundled.net, bundled.constructor, {"tracker": recommended_everywhere()})
    return file.stem


@pytest.fixture(scope="module", autouse=True)
def each_network_once():
    """No frame is tracked here: trackers of one network share it, and it needs no engine."""
    dimp = "pytracking.tracker.dimp.dimp"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{dimp}.load_dimp_network", functools.cache(load_dimp_network))
        patch.setattr(f"{dimp}.with_engine", lambda network, *_: network)
        yield


@pytest.fixture(autouse=True)
def no_notes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWeightsWarning)
        yield


def assigned() -> DimpParams:
    params = DimpParams()
    params.train_skipping = 20
    return params


@pytest.mark.parametrize("make", [
    lambda: DimpParams(train_skipping=20),
    lambda: replace(DimpParams(), train_skipping=20),
    lambda: replace(DimpParams(train_skipping=20), step_length=0.1),
    lambda: copy.copy(DimpParams(train_skipping=20)),
    lambda: pickle.loads(pickle.dumps(DimpParams(train_skipping=20))),
    assigned,
])  # fmt: skip
def test_a_stated_default_is_stated(make) -> None:
    assert make().train_skipping == DimpParams().train_skipping
    applied = with_recommendations(make(), {"train_skipping": 5, "image_sample_size": 64})
    assert (applied.train_skipping, applied.image_sample_size) == (20, 64)
    assert applied.provenance["train_skipping"] == "file"
    assert applied.provenance["image_sample_size"] == "network"
    assert "search_area_scale" not in applied.provenance, "replace() must not state what it copies"


def test_recommendations_are_refused_where_they_are_not_a_networks_business() -> None:
    for name in ("serach_area_scale", "device", "network_file", "provenance", "step_factor", "learner"):
        with pytest.raises(AttributeError, match=name):
            with_recommendations(RLSDimpParams(), {name: 1})


@pytest.mark.parametrize(("_", "name", "param"), [file for file in FILES if file[0] == "dimp_mobile"])
def test_a_files_statements_win_and_recommendations_fill_in_the_rest(_, name: str, param: str, eager: str) -> None:
    tracker = Tracker(name, param, network=eager)
    stated, resolved = tracker.file_parameters(), tracker.get_parameters()
    for parameter, value in recommended_everywhere().items():
        wins = stated if parameter in stated.provenance else None
        assert getattr(resolved, parameter) == (getattr(wins, parameter) if wins else value), parameter
        assert resolved.provenance[parameter] == ("file" if wins else "network")


def test_vot_files_run_with_what_they_state() -> None:
    bgd, dimp = (Tracker("dimp", param).create_tracker().params for param in ("bgd_vot18", "dimp50_vot18"))
    assert (bgd.train_skipping, bgd.step_length, bgd.image_sample_size) == (20, 3e-2, 224)
    assert dimp.train_skipping == 10


def test_a_user_wins_over_everybody(eager: str) -> None:
    overrides = {"train_skipping": 7, "iounet_k": 1}
    params = Tracker("dimp", "bgd_vot18", network=eager, overrides=overrides).get_parameters()
    assert (params.train_skipping, params.iounet_k) == (7, 1)
    assert params.provenance["train_skipping"] == params.provenance["iounet_k"] == "user"
    with pytest.raises(UnknownParameterError, match="Did you mean 'train_skipping'"):
        Tracker("dimp", "bgd", overrides={"train_skiping": 7}).get_parameters()
    with pytest.raises(UserError, match="train_skipping must be a number.*'often'"):
        Tracker("dimp", "bgd", overrides={"train_skipping": "often"}).get_parameters()
    with pytest.raises(UserError, match="border_mode must be one of 'replicate', .*; got 'mirror'"):
        Tracker("dimp", "bgd", overrides={"border_mode": "mirror"}).get_parameters()
    with pytest.raises(UnknownParameterError, match="--network"):
        Tracker("dimp", "bgd", overrides={"network_file": "x.pth"}).get_parameters()


class NotesTrackers:
    """A pool that makes each task's tracker as a worker does, and tracks nothing."""

    def __init__(self) -> None:
        self.params = []

    def run(self, tasks, progress):
        for task in tasks:
            self.params.append(TaskRunner().tracker_for(task).params)
            yield Outcome(task)


@pytest.mark.parametrize(("network", "name", "param"), FILES)
def test_run_json_holds_what_the_tracker_holds(network: str, name: str, param: str, sequences) -> None:
    tracker, pool = Tracker(name, param, network=network), NotesTrackers()
    run_dataset(sequences[:1], [tracker], pool=pool, progress=False, overrides={"device": "cpu"})
    record = json.loads((tracker.results_dir / RECORD_NAME).read_text())
    (params,) = pool.params
    assert record["parameters"] == recorded_parameters(params)
    assert record["parameters"]["network_file"] == str(BUNDLED / f"{network}.pth")
    assert record["weights_sha256"] == sha256(BUNDLED / f"{network}.pth")
    recommended = read_checkpoint(BUNDLED / f"{network}.pth", tensors=False).metadata["tracker"]
    default, provenance = type(params)(), record["provenance"]
    changed = {n for n, value in recorded_parameters(params).items() if value != recorded_parameters(default)[n]}
    assert changed <= set(provenance)
    assert provenance["device"] == provenance["network_file"] == "user"
    for parameter, source in provenance.items():
        if source == "network":
            assert getattr(params, parameter) == recommended[parameter]
    assert {n for n, source in provenance.items() if source == "file"} == set(tracker.file_parameters().provenance)


def test_weights_that_a_user_states_are_looked_for(sequences, tmp_path: Path, capsys) -> None:
    folder = sequences[0].frames[0].rsplit("/", 3)[0]
    command = ["dimp", "bgd", "--dataset_name", f"folder:{folder}", "--sequence", "one", "--device", "cpu"]
    assert run_tracker.main([*command, "--set", "weights=no_such_file.pth"]) == 2
    assert "no_such_file.pth" in capsys.readouterr().err
    assert not list((tmp_path / "results").rglob("*.txt"))
    with pytest.raises(MissingWeightsError, match="nor_this"):
        Tracker("dimp", "bgd", overrides={"fallback_weights": "nor_this"}).get_parameters()
    with pytest.raises(ValueError, match="two networks"):
        Tracker("dimp", "bgd", network="dimp_mobile", overrides={"weights": "dimp_mobile"}).get_parameters()
    with pytest.raises(ValueError, match="uses no network"):
        Tracker("identity", "default", network="dimp_mobile").get_parameters()


def test_weights_that_a_user_states_have_a_folder_of_their_own(eager: str) -> None:
    tracker = Tracker("dimp", "bgd", overrides={"weights": f"{eager}.pth"})
    assert tracker.results_dir.name == "bgd@eager"
    params = tracker.get_parameters()
    assert params.network_file.name == "eager.pth" and params.provenance["network_file"] == "user"
    assert params.image_sample_size == recommended_everywhere()["image_sample_size"]


def test_compared_rtmdnets_state_the_same() -> None:
    rls, simple = (Tracker(*name).file_parameters() for name in (("rls_rtmdnet", "default"), ("rtmdnet", "simple")))
    assert set(rls.provenance) == set(simple.provenance)
    assert all(getattr(rls, name) == getattr(simple, name) for name in rls.provenance)


@pytest.mark.parametrize("zipped", [True, False])
def test_recommendations_are_read_without_the_tensors(zipped: bool, tmp_path: Path) -> None:
    file, metadata = tmp_path / "large.pth", {"tracker": {"train_skipping": 3}}
    content = {"format": FORMAT, "net": {"w": torch.ones(1000)}, "constructor": {}, "metadata": metadata}
    torch.save(content, file, _use_new_zipfile_serialization=zipped)
    checkpoint = read_checkpoint(file, tensors=False)
    assert checkpoint.net["w"].is_meta and checkpoint.net["w"].shape == (1000,)
    assert recommendations(file) == metadata["tracker"]
    assert not read_checkpoint(file).net["w"].is_meta
    for name, data in (("empty.pth", b""), ("foreign.onnx", b"\x08\x07onnx"), ("page.pth", b"<html>")):
        (tmp_path / name).write_bytes(data)
        assert recommendations(tmp_path / name) == {}, "the tracker says what is wrong with it, not its recommendations"


def step_length(tracker: Tracker) -> float:
    """How far the learner goes for a gradient of one, measured on the learner itself before it has seen anything."""
    learner = tracker.create_tracker({"device": "cpu"}).learner
    gradient = torch.ones(1, 8, 4, 4)
    learner.start(torch.zeros_like(gradient), torch.Generator())
    steps = learner.step_length * learner.direction(gradient)
    assert steps.min() == steps.max()
    return float(steps.max())


def matched_pairs() -> set[tuple[TrackerReference, TrackerReference]]:
    """RLS-DiMP and its matched control, wherever an experiment compares them."""
    benchmarks = [benchmark for name in experiment_names() for benchmark in get_experiment(name).benchmarks]
    rows = [benchmark.trackers for benchmark in benchmarks if MATCHED in benchmark.trackers]
    return {tuple(TrackerReference.parse(trackers[label]) for label in ("RLS-DiMP", MATCHED)) for trackers in rows}


@pytest.mark.parametrize("network", ["bundled", "eager", "without recommendations"])
def test_matched_controls_are_matched_in_every_experiment(network: str, eager: str, tmp_path: Path) -> None:
    bundled = read_checkpoint(BUNDLED / "dimp_mobile.pth")
    save_checkpoint(tmp_path / "networks" / "silent.pth", bundled.net, bundled.constructor)
    file = {"bundled": "dimp_mobile", "eager": eager, "without recommendations": "silent"}[network]
    pairs = matched_pairs()
    assert {rls.parameters for rls, _ in pairs} == {"default", "got10k", "long_term", "oxuva"}
    for rls, matched in pairs:
        one, other = (Tracker(name.tracker, name.parameters, network=file) for name in (rls, matched))
        assert step_length(one) == pytest.approx(step_length(other), rel=1e-6), (rls, matched)
        params, control = one.get_parameters(), other.get_parameters()
        differ = {each.name for each in fields(DimpParams) if getattr(params, each.name) != getattr(control, each.name)}
        assert differ <= {"learner", "step_factor", "weights", "output_presence", "provenance"}, (rls, matched)
