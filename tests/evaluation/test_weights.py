"""Which network a tracker runs on, and where its results then go."""
from __future__ import annotations

import warnings

import pytest

from pytracking.evaluation import Tracker
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError
from pytracking.evaluation.run_record import run_record
from pytracking.tracker.base import TrackerParams
from pytracking.utils.files import sha256


class Paper(Tracker):
    """Wants the paper's network and can run on a small one."""

    weights_name, fallback_name = "test_paper.pth", "test_small"

    def file_parameters(self):
        return TrackerParams(weights=self.weights_name, fallback_weights=self.fallback_name)


@pytest.fixture
def networks(tmp_path):
    folder = tmp_path / "networks"
    folder.mkdir()
    return folder


def test_paper_network_is_taken_where_it_is_found(networks):
    for name in ("test_paper.pth", "test_small.pth"):
        (networks / name).write_bytes(name.encode())
    tracker = Paper("identity", "default", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tracker.results_dir.name == "default_001"
    assert tracker.create_tracker().params.network_file == networks / "test_paper.pth"
    assert run_record(tracker)["weights_sha256"] == sha256(networks / "test_paper.pth")


def test_fallback_is_told_once_and_stands_in_the_folders_name(networks):
    (networks / "test_small.pth").touch()
    tracker = Paper("identity", "default", 1)
    with pytest.warns(FallbackWeightsWarning, match="test_paper.pth.*test_small") as caught:
        assert tracker.results_dir.name == "default@test_small_001"
        tracker.create_tracker()
    assert len(caught) == 1
    assert tracker.get_parameters().network_file == networks / "test_small.pth"


def test_strict_and_missing_networks_are_errors_with_a_remedy(networks):
    with pytest.raises(MissingWeightsError, match="test_paper.pth.*pytracking weights"):
        Paper("identity", "default").create_tracker()
    (networks / "test_small.pth").touch()
    with pytest.raises(MissingWeightsError, match="test_paper.pth"):
        Paper("identity", "default", strict_weights=True).create_tracker()


def test_network_asked_for_by_name_or_path(networks, tmp_path):
    (networks / "test_mine.pth").touch()
    (tmp_path / "elsewhere.pth").touch()
    assert Paper("identity", "default", network="test_mine").results_dir.name == "default@test_mine"
    elsewhere = Paper("identity", "default", network=str(tmp_path / "elsewhere.pth"))
    assert elsewhere.get_parameters().network_file == tmp_path / "elsewhere.pth"
    with pytest.raises(MissingWeightsError, match="test_other"):
        Paper("identity", "default", network="test_other").create_tracker()
