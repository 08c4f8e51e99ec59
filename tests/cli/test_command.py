"""The one command: what it offers, how trackers and options are written, and what near misses are told."""
from __future__ import annotations

import subprocess
import sys

import pytest

import pytracking
from ltr.errors import UserError
from pytracking.__main__ import main
from pytracking.cli.commands import COMMANDS, command_module, command_parser
from pytracking.evaluation.datasets.registry import get_dataset
from pytracking.evaluation.reference import TrackerReference, TrackerReferenceError, join_words
from pytracking.utils.names import nearest
from pytracking.video.sources import VideoError, open_source


@pytest.mark.parametrize(
    "text, expected",
    [
        ("rls_dimp", ("rls_dimp", "default", None, None)),
        ("rls_dimp/vot18", ("rls_dimp", "vot18", None, None)),
        ("rls_dimp vot18", ("rls_dimp", "vot18", None, None)),
        ("rls_dimp:vot18", ("rls_dimp", "vot18", None, None)),
        ("rls_dimp/default@dimp_mobile", ("rls_dimp", "default", "dimp_mobile", None)),
        ("rls_dimp/default@/nets/a.b/x.pth#12", ("rls_dimp", "default", "/nets/a.b/x.pth", 12)),
        ("dimp/dimp50#0", ("dimp", "dimp50", None, 0)),
    ],
)
def test_a_tracker_is_written_in_one_way(text, expected):
    reference = TrackerReference.parse(text)
    assert (reference.tracker, reference.parameters, reference.network, reference.run) == expected
    assert TrackerReference.parse(str(reference)) == reference


@pytest.mark.parametrize("text", ["", "a/b/c", "a/b#x", "/a", "a/", "N=a/b"])
def test_what_is_no_tracker_is_refused_with_the_form(text):
    with pytest.raises(TrackerReferenceError, match="TRACKER/PARAMETERS"):
        TrackerReference.parse(text)


def test_words_are_joined_to_trackers():
    assert join_words(["dimp", "dimp50", "rls_dimp/default#0", "Ours=a/b", "opencv", "csrt"]) == [
        "dimp/dimp50", "rls_dimp/default#0", "Ours=a/b", "opencv/csrt",
    ]  # fmt: skip
    assert join_words(["dimp", "rls_dimp/default"]) == ["dimp", "rls_dimp/default"]


def test_the_value_of_an_option_is_not_taken_for_the_tracker():
    for words in (["dimp", "dimp50", "--results-path", "dimp/new"], ["--results-path", "dimp/new", "dimp/dimp50"]):
        args = command_parser("run").parse_args([*words, "--rerun"])
        assert (args.tracker_name, args.tracker_param, args.results_path) == ("dimp", "dimp50", "dimp/new")
    args = command_parser("run").parse_args(["--rerun", "dimp/dimp50"])
    assert (args.tracker_name, args.tracker_param) == ("dimp", "dimp50")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_arguments_and_options_with_dashes(command):
    options = list(command_parser(command).options())
    assert "--help" in options
    assert not [option for option in options if "_" in option]
    assert callable(command_module(command).run)


@pytest.mark.parametrize(
    "words",
    [
        ["rls_dimp/default@net#3", "--dataset", "demo", "--workers", "2"],
        ["rls_dimp default@net#3", "--dataset", "demo", "--workers", "2"],
        ["rls_dimp", "default", "--network", "net", "--run-id", "3", "--dataset", "demo", "--workers=2"],
        ["rls_dimp", "default", "--network=net", "--runid", "3", "--dataset_name", "demo", "--threads", "2"],
        ["--dataset", "demo", "--workers", "2", "rls_dimp/default@net#3"],
    ],
)
def test_spellings_mean_the_same(words):
    args = command_parser("run").parse_args(words)
    assert (args.tracker_name, args.tracker_param, args.network, args.run_id) == ("rls_dimp", "default", "net", 3)
    assert (args.dataset, args.workers) == ("demo", 2)


def test_a_path_is_not_taken_for_a_tracker(tmp_path):
    video = tmp_path / "rls" / "video.mp4"
    video.parent.mkdir()
    video.touch()
    args = command_parser("video").parse_args(["rls_dimp/default", str(video), "--save", "out.mp4"])
    assert (args.tracker_name, args.tracker_param, args.video) == ("rls_dimp", "default", str(video))
    assert str(args.output) == "out.mp4"


@pytest.mark.parametrize(
    "words, told",
    [
        (["runn"], "Did you mean 'run'"),
        (["rls_dimp", "default"], "pytracking run rls_dimp default"),
        (["run", "rls_dmp/default", "--dataset", "demo"], "Did you mean 'rls_dimp'"),
        (["run", "identity/default", "--datset", "demo"], "did you mean --dataset?"),
        (["vot", "run", "ws", "--engine", "trax"], "--runner trax"),
        (["experiments", "run", "mini", "--engine", "ray"], "--runner ray"),
        (["run", "a/b/c", "--dataset", "demo"], "TRACKER/PARAMETERS"),
    ],
)
def test_near_misses_are_told(words, told, capsys):
    try:
        code = main(words)
    except SystemExit as end:  # argparse's way out
        code = end.code
    assert code == 2
    assert told in capsys.readouterr().err


def test_a_folder_given_for_a_dataset_is_told(tmp_path):
    folder = tmp_path / "OTB100"
    folder.mkdir()
    with pytest.raises(UserError, match=f"write folder:{folder}"):
        get_dataset(str(folder))


def test_a_sequence_given_for_a_video_is_told(tmp_path):
    (tmp_path / "img").mkdir()
    with pytest.raises(VideoError, match="its frames are in .*img: use that folder"):
        open_source(str(tmp_path))


def test_a_parameter_is_found_by_sense():
    names = ["learning_rate", "step_length", "beta", "net_opt_update_iter", "distractor_threshold"]
    senses = {"lr": "step_length", "forgetting_factor": "beta"}
    assert nearest("lr", names, senses) == "step_length"
    assert nearest("forgetting-factor", names, senses) == "beta"
    assert nearest("learning_rat", names, senses) == "learning_rate"
    assert nearest("update_iterations_number", names, senses) == "net_opt_update_iter"
    assert nearest("zzzz", names, senses) is None


def test_load_takes_the_same_text():
    assert repr(pytracking.load("identity/default")) == repr(pytracking.load("identity", "default"))
    with pytest.raises(TrackerReferenceError):
        pytracking.load("identity/default", "default")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_options_and_trackers(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("experiments", "--results-path", "rls_dimp/default", "folder:"))
    if shell == "bash":
        asked = f"{script}\nCOMP_WORDS=(pytracking run --data) COMP_CWORD=2; _pytracking; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["--dataset"]


def test_help_does_not_wait_for_torch():
    code = "import sys, pytracking.__main__ as m; m.main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pytracking run rls_dimp/default --dataset demo" in done.stdout
