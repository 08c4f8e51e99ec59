import numpy as np
import pytest

import pytracking
from pytracking.evaluation.discovery import UnknownTrackerError

FRAME = np.zeros((40, 60, 3), np.uint8)


def test_a_loaded_tracker_tracks_and_starts_again():
    tracker = pytracking.load("identity")
    assert tracker.init(FRAME, (1, 2, 3, 4))["target_bbox"] == [1, 2, 3, 4]
    assert tracker.update(FRAME)["target_bbox"] == [1, 2, 3, 4]
    tracker.init(FRAME[:20], np.array([5, 6, 7, 8]))
    assert tracker.update(FRAME[:20])["target_bbox"] == [5, 6, 7, 8]


def test_update_needs_init():
    tracker = pytracking.load("identity")
    with pytest.raises(RuntimeError, match="init"):
        tracker.update(FRAME)
    tracker.init(FRAME, (1, 2, 3, 4))
    with pytest.raises(ValueError, match="zero or negative"):
        tracker.init(FRAME, (1, 2, 0, 4))
    with pytest.raises(RuntimeError, match="init"):
        tracker.update(FRAME)


@pytest.mark.parametrize(
    "frame", [FRAME[..., 0], FRAME.astype(float), "frame.jpg", np.zeros((4, 5, 4), np.uint8), None]
)
def test_frames_must_be_rgb_uint8(frame):
    with pytest.raises(ValueError, match="RGB uint8"):
        pytracking.load("identity").init(frame, (1, 2, 3, 4))


def test_frames_must_keep_their_size():
    tracker = pytracking.load("identity")
    tracker.init(FRAME, (1, 2, 3, 4))
    with pytest.raises(ValueError, match="60x20.*60x40"):
        tracker.update(FRAME[:20])


def test_unknown_names_are_told():
    with pytest.raises(UnknownTrackerError, match="Did you mean"):
        pytracking.load("identitty")
    with pytest.raises(AttributeError, match="Did you mean 'debug'"):
        pytracking.load("identity", debugg=1)
