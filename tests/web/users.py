"""What several tests of the page do."""
from pytracking.evaluation.handle import TrackerHandle

FAST = {"load": lambda name: TrackerHandle(*name.split("/"))}
PATIENCE = 240  # seconds; a busy machine is slow
PAIR = ("identity/default", "opencv/kcf")


class Drifting(TrackerHandle):
    """Leaves the target between frames 40 and 60."""

    def init(self, frame, box):
        self.count = 0
        return super().init(frame, box)

    def update(self, frame):
        self.count += 1
        x, y, w, h = super().update(frame)["target_bbox"]
        return {"target_bbox": [x + (60 if 40 <= self.count < 60 else 1), y, w, h]}


PARTING = {"load": lambda name: (Drifting if name == PAIR[1] else TrackerHandle)("identity", "default")}


def finished(page, *trackers: str, demo: str = "bird") -> None:
    page.choose_demo(demo)
    page.track(*trackers)
    page.until("state.run?.count > 1 && state.phase === 'idle'")


def pause(page) -> int:
    """Pauses, waits for the frames that are on their way, and returns the frame in view."""
    page.keyboard.press("Space")
    page.until("state.paused")
    return at_rest(page)


def at_rest(page) -> int:
    """The newest frame, once it is in view and the server, though asked again and again, sends no other."""
    same, before = 0, None
    while same < 15:
        page.evaluate("fetch('/api/server').then((answer) => answer.text())")
        page.drawn()
        now = page.state("[state.run.last, state.shown]")
        same = same + 1 if now == before and now[0] == now[1] else 0
        before = now
    return before[1]


def copied(page, button: str, says: str) -> str:
    page.click("#share summary")
    page.click(button)
    page.says(says)
    return page.evaluate("navigator.clipboard.readText()")


def downloaded(page, link: str, tmp_path):
    if not page.is_visible(link):
        page.click("#downloads summary")
    with page.expect_download() as download:
        page.click(link)
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    return path


def in_process(name: str, sequence, box: list[float]) -> list[list[float]]:
    handle = TrackerHandle(*name.split("/"))
    boxes = [handle.init(sequence.load_frame(0), box)["target_bbox"]]
    return boxes + [handle.update(sequence.load_frame(i))["target_bbox"] for i in range(1, len(sequence))]
