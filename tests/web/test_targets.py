"""Several targets on the page: drawn, added later, removed, selected, downloaded, compared."""
import csv
import shlex

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

from pytracking.cli.commands import command_parser  # noqa: E402
from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from tests.web.users import FAST, PAIR, copied, downloaded, pause  # noqa: E402

SECOND, THIRD = [40, 40, 60, 50], [200, 30, 50, 60]


def ids(page, place: int = 0) -> list[int]:
    return page.state(f"state.run.trackers[{place}].rows(state.run.last).map((row) => row.id)")


def test_targets_are_drawn_before_the_run_and_compared(open_page, tmp_path):
    page = open_page(permissions=["clipboard-read", "clipboard-write"], **FAST)
    page.choose_demo("bird")
    page.keyboard.press("a")
    page.drag(SECOND)
    page.until("state.choice.objects.length === 2")
    page.click("#add-target")
    page.drag(THIRD)
    page.says("3 targets")
    assert page.state("state.choice.objects.map((one) => one.id)") == [1, 2, 3]
    page.keyboard.press("x")  # the last one drawn is the selected one
    page.until("state.choice.objects.length === 2 && document.querySelectorAll('#target-chips button').length === 2")
    chips = page.eval_on_selector_all("#target-chips button", "all => all.map((one) => one.textContent)")
    assert chips == ["Target 1", "Target 2"]
    page.track(*PAIR)
    page.until("state.run?.count > 1 && state.phase === 'idle'")
    assert ids(page) == ids(page, 1) == [1, 2]
    first, second = page.state("[1, 2].map((id) => state.run.track(0, id).boxes.at(0))")
    assert first == pytest.approx([175, 102, 51, 51], abs=1) and second == pytest.approx(SECOND, abs=1.5)
    page.click("#target-chips button >> nth=1")
    page.until("state.target === 2")
    page.keyboard.press("t")
    page.until("state.target === 1")
    for mode in ("overlay", "wipe", "side"):
        page.click(f"#modes [data-mode={mode}]")
    with open(downloaded(page, "#download-csv", tmp_path), newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows[:4]] == ["1", "2", "1", "2"] and len(rows) == 4 * 150
    lines = downloaded(page, "#download-mot-0", tmp_path).read_text().splitlines()
    assert lines[0].startswith("1,1,175") and lines[1].startswith("1,2,") and len(lines) == 300
    link = copied(page, "#copy-link", "Link copied")
    page.goto("about:blank")
    page.goto(link[: link.index("&run=")])
    page.until("state.choice.objects.length === 2 && state.picture")
    page.goto("about:blank")
    page.goto(link)
    page.until("state.run?.count === 150")
    assert ids(page) == [1, 2] and page.state("state.run.agreement.count") == 150


def test_targets_come_and_go_while_it_tracks(open_page, tmp_path):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.choose_demo("lantern_long")
    page.track()
    page.until("state.run?.count >= 12")
    frame = pause(page)
    page.keyboard.press("ArrowLeft")
    page.until(f"state.shown === {frame - 1}")
    page.keyboard.press("a")
    page.until("state.correcting === 'add'")
    added = page.state("state.shown")
    page.says("target 2")
    page.drag(SECOND)
    page.until(f"state.run.track(0, 2)?.count > 4 && state.run.last > {added + 4}")
    assert page.state("state.run.track(0, 2).start") == added and page.state("state.target") == 2
    pause(page)
    page.keyboard.press("c")
    page.until("state.correcting === 'correct'")
    page.says("target 2")
    corrected = page.state("state.shown")
    page.drag(THIRD)
    page.until(f"state.run.corrected.length && state.run.last > {corrected + 3}")
    page.click("#target-chips button >> nth=0")
    page.until("document.getElementById('remove-target').textContent.includes('Remove target 1')")
    page.keyboard.press("x")
    page.until("state.run.trackers[0].rows(state.run.last).length === 1 && !state.run.track(0, 1).has(state.run.last)")
    page.until("document.getElementById('remove-target').hidden")
    page.keyboard.press("Escape")
    page.until("state.phase === 'idle'")
    assert ids(page) == [2] and page.state("state.run.corrected") == [[corrected, 2]]
    with open(downloaded(page, "#download-csv", tmp_path), newline="") as stream:
        rows = list(csv.DictReader(stream))
    seconds = [row for row in rows if row["id"] == "2"]
    assert int(seconds[0]["frame"]) == added + 1
    assert [float(seconds[0][key]) for key in "xywh"] == pytest.approx(SECOND, abs=2)
    assert [float(seconds[-1][key]) for key in "xywh"] == pytest.approx(THIRD, abs=2)
    assert [row["frame"] for row in rows if row["corrected"] == "1"] == [str(corrected + 1)]
    firsts = [int(row["frame"]) for row in rows if row["id"] == "1"]
    assert firsts == list(range(1, len(firsts) + 1)) and firsts[-1] < int(seconds[-1]["frame"])
    arguments = command_parser("video").parse_args(shlex.split(copied(page, "#copy-command", "Command copied"))[2:])
    assert arguments.box_at == [[added + 1, *[pytest.approx(value, abs=2) for value in SECOND]]]
    assert arguments.remove_at == [[firsts[-1] + 1, 1]]


def test_what_is_remembered_of_the_past_is_charted_for_both_trackers(open_page):
    class Learner(TrackerHandle):
        count = 0

        def update(self, frame):
            self.count += 1
            margin = {"past_margin": 0.8 - self.count / 400} if self.count > 100 else {"past_margin": None}
            return {**super().update(frame), "score": 0.5, "learner": {"updated": True, **margin}}

    page = open_page(load=lambda name: Learner("identity", "default"))
    page.choose_demo("bird")
    page.track(*PAIR)
    page.until("state.run?.count > 1 && state.phase === 'idle'")
    page.shows("[data-key=past_margin]", "Margin on old frames")
    page.shows("[data-key=past_margin]", "more than 100 frames old")
    values = "document.querySelector('[data-key=past_margin] .values').textContent"
    page.until(f"{values} === '0.430.43'")  # of both trackers
    page.keyboard.press("Home")
    page.until("state.shown === 0")
    page.until(f"{values} === '––'")
