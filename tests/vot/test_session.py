"""What the TraX server and the in-process runner share."""
import pytest

from pytracking.evaluation.frame_loop import TrackerOutputError
from pytracking.evaluation.seeds import seed_for
from pytracking.tracker.base import TrackerParams
from pytracking.vot_integration.session import SeedSchedule, VotSession
from tests.vot import miniature


@pytest.fixture()
def frames(tmp_path):
    return miniature.write_frames(tmp_path / "seq0" / "color", 0, 5)


def session(kind, **options):
    return VotSession(miniature.KINDS[kind](TrackerParams()), **options)


def test_one_tracker_is_started_again_and_again(frames):
    tracker = session("Stays")
    for start in (0, 2):
        assert tracker.start(frames[start], miniature.truth(0, start)) == miniature.truth(0, start)
        assert tracker.follow(frames[start + 1]) == (miniature.truth(0, start), 0.5)


def test_a_tracker_without_a_score_is_sure(frames):
    from pytracking.parameter.identity.default import parameters
    from pytracking.tracker.identity import get_tracker_class

    tracker = VotSession(get_tracker_class()(parameters()))
    tracker.start(frames[0], [1, 2, 3, 4])
    assert tracker.follow(frames[1]) == ([1, 2, 3, 4], 1.0)


@pytest.mark.parametrize(("conversion", "width"), [(None, 15.0), ("preserve_area", 15.0), ("union", 14 * 2**0.5)])
def test_polygons_start_the_tracker_on_a_box(frames, conversion, width):
    square = [10, 20 - 7 * 2**0.5, 10 + 7 * 2**0.5, 20, 10, 20 + 7 * 2**0.5, 10 - 7 * 2**0.5, 20]  # side 14, on its tip
    box = session("Stays", conversion=conversion).start(frames[0], square)
    assert box[2] == pytest.approx(width) and box[0] + box[2] / 2 == pytest.approx(10)


def test_the_parameters_choose_the_conversion(frames):
    class Params:
        vot_anno_conversion_type = "union"

    tracker = VotSession(miniature.Stays(Params()))
    assert tracker.start(frames[0], [10, 0, 20, 10, 10, 20, 0, 10]) == [0, 0, 20, 20]


def test_nan_is_an_error_that_names_the_frame(frames):
    tracker = session("ReturnsNaN")
    tracker.start(frames[2], miniature.truth(0, 2))
    with pytest.raises(TrackerOutputError, match="0004.png.*nan"):
        tracker.follow(frames[3])


def test_seeds_follow_repetitions_and_frames():
    first, later = "a/ws/sequences/seq0/color/00000001.jpg", "a/ws/sequences/seq0/color/00000016.jpg"
    schedule = SeedSchedule()
    seeds = [schedule.next(image) for image in (first, later, first, later, later)]
    expected = [(0, "1"), (0, "16"), (1, "1"), (1, "16"), (1, "16")]
    assert seeds == [seed_for(run, f"seq0/color/{int(frame):08d}.jpg") for run, frame in expected]
    resumed = SeedSchedule(repetitions=[1])
    assert [resumed.next(image.replace("a/ws", "elsewhere")) for image in (first, later)] == seeds[2:4]
    with_gaps = SeedSchedule(repetitions=[0, 2])
    assert [with_gaps.next(first) for _ in range(3)] == [seed_for(run, "seq0/color/00000001.jpg") for run in (0, 2, 3)]
