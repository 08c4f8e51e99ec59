"""Workspaces that the toolkit accepts, wherever it is started."""
import configparser
import dataclasses
import math
import shlex
import socket
import sys

import pytest
from vot.stack import resolve_stack
from vot.workspace import Workspace

from pytracking.vot_integration.execution import open_workspace
from pytracking.vot_integration.trackers import TrackerSpec, TrackerSpecError
from pytracking.vot_integration.workspace import (
    StackChanges,
    WorkspaceError,
    add_trackers,
    create_workspace,
    registered_spec,
)
from tests.vot import miniature

IDENTITY = TrackerSpec("identity", "default")


@pytest.fixture()
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a download was attempted")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture()
def sources(tmp_path):
    return [miniature.source(tmp_path / "frames", 0, 3)]


def test_a_stack_of_the_toolkit_with_local_sequences(tmp_path, sources, no_network, monkeypatch):
    create_workspace(tmp_path / "ws", "vot2018/shortterm", [IDENTITY], sources)
    monkeypatch.chdir("/")
    workspace = Workspace.load(str(tmp_path / "ws"))
    assert workspace.stack.name == "vot2018/shortterm"
    assert list(workspace.stack.experiments) == ["baseline", "realtime", "unsupervised"]
    assert workspace.dataset.list() == ["seq0"]
    assert registered_spec(workspace.registry["identity-default"]) == IDENTITY


def test_the_command_does_not_depend_on_the_folder(tmp_path, sources, monkeypatch):
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", "relative/networks")
    monkeypatch.chdir(tmp_path)
    create_workspace(tmp_path / "ws", "vot2018/shortterm", [IDENTITY], sources, timeout=77)
    registry = configparser.ConfigParser()
    registry.read(tmp_path / "ws" / "trackers.ini")
    entry = registry["identity-default"]
    assert shlex.split(entry["command"])[0] == sys.executable
    assert entry["timeout"] == "77"
    assert entry["env_pytracking_network_path"] == str(tmp_path / "relative" / "networks")


def test_percent_signs_in_paths_survive(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", "/data/100%/nets")
    add_trackers(tmp_path, [IDENTITY])
    registry = configparser.ConfigParser()
    registry.read(tmp_path / "trackers.ini")
    assert registry["identity-default"]["env_pytracking_network_path"] == "/data/100%/nets"


def test_trackers_are_added_and_replaced(tmp_path):
    add_trackers(tmp_path, [IDENTITY])
    add_trackers(tmp_path, [IDENTITY, TrackerSpec("opencv", "kcf")], timeout=5)
    registry = configparser.ConfigParser()
    registry.read(tmp_path / "trackers.ini")
    assert registry.sections() == ["identity-default", "opencv-kcf"]
    assert {registry[name]["timeout"] for name in registry.sections()} == {"5"}


def test_a_network_is_part_of_the_name_and_of_the_command(tmp_path):
    spec = TrackerSpec("rls_dimp", "vot18", "dimp_mobile", other_network=True)
    assert (spec.label, spec.identifier) == ("rls_dimp:vot18@dimp_mobile", "rls_dimp-vot18-dimp_mobile")
    assert TrackerSpec("rls_dimp", "vot18", "dimp50").label == "rls_dimp:vot18"
    add_trackers(tmp_path, [spec])
    assert "--network dimp_mobile" in (tmp_path / "trackers.ini").read_text()


@pytest.mark.parametrize("text", [":vot18", "rls_dimp:", "a:b:c", "identity/default#0"])
def test_a_misspelled_tracker_shows_the_form(text):
    with pytest.raises(TrackerSpecError, match="TRACKER/PARAMETER|numbers the runs"):
        TrackerSpec.parse(text)


def test_an_unknown_tracker_is_refused_before_anything_is_written():
    with pytest.raises(ValueError, match="Did you mean 'identity'"):
        TrackerSpec.parse("identiti:default")


def test_changes_of_the_stack_are_told_in_its_title(tmp_path, sources):
    changes = StackChanges(repetitions=2, eao_interval=(3, 9))
    create_workspace(tmp_path / "ws", "vot2019/shortterm", [IDENTITY], sources, changes=changes)
    stack = Workspace.load(str(tmp_path / "ws")).stack
    assert "2 repetitions" in stack.title and "3 to 9" in stack.title
    assert (stack["baseline"].repetitions, stack["realtime"].repetitions) == (2, 1)
    assert (stack["baseline"].analyses[1].low, stack["realtime"].analyses[1].high) == (3, 9)


def test_a_stack_of_ones_own_is_copied(tmp_path, sources):
    own = tmp_path / "mine.yaml"
    own.write_text("title: mine\nexperiments:\n  only: {type: supervised, repetitions: 1, skip_initialize: 5}\n")
    create_workspace(tmp_path / "ws", str(own), [], sources)
    own.unlink()
    assert list(Workspace.load(str(tmp_path / "ws")).stack.experiments) == ["only"]


def test_an_unknown_stack_lists_the_known_ones(tmp_path, sources):
    with pytest.raises(WorkspaceError, match="Did you mean 'vot2018/shortterm'"):
        create_workspace(tmp_path / "ws", "vot2018/shorterm", [], sources)
    assert resolve_stack("vot2018/shortterm") is not None


def test_sequences_without_the_target_are_left_out_of_reset_based_stacks(tmp_path, sources):
    absent = dataclasses.replace(sources[0], name="gone", regions=(*sources[0].regions[:2], (math.nan,) * 4))
    left_out = create_workspace(tmp_path / "ws", "vot2018/shortterm", [], [*sources, absent])
    assert left_out == ["gone"]
    assert Workspace.load(str(tmp_path / "ws")).dataset.list() == ["seq0"]
    with pytest.raises(WorkspaceError, match="long-term"):
        create_workspace(tmp_path / "ws2", "vot2018/shortterm", [], [absent])
    assert create_workspace(tmp_path / "ws3", "vot2019/longterm", [], [absent]) == []


def test_a_workspace_is_not_overwritten(tmp_path, sources):
    create_workspace(tmp_path / "ws", "vot2018/shortterm", [], sources)
    with pytest.raises(WorkspaceError, match="already"):
        create_workspace(tmp_path / "ws", "vot2018/shortterm", [], sources)


def test_opening_never_downloads(tmp_path, sources, no_network):
    with pytest.raises(WorkspaceError, match="not a workspace"):
        open_workspace(tmp_path)
    create_workspace(tmp_path / "ws", "vot2018/shortterm", [], sources)
    (tmp_path / "ws" / "sequences" / "list.txt").unlink()
    with pytest.raises(WorkspaceError, match="no sequences"):
        open_workspace(tmp_path / "ws")
