"""A real server on a free port, and a real browser."""
import os
import shutil
import socket
import threading
import time

import pytest

from pytracking.evaluation.handle import TrackerHandle
from tests.web.users import PATIENCE

TRACKERS = ("identity/default", "opencv/kcf", "opencv/mil")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("PYTRACKING_TEST_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no browser is installed (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        instance = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
                  "--disable-sync", "--no-first-run", "--disable-quic", "--use-fake-device-for-media-stream",
                  "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required"],
        )  # fmt: skip
        yield instance
        instance.close()


class Server:
    """An application on a port of its own, in a thread."""

    def __init__(self, app, port: int = 0) -> None:
        uvicorn = pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            self.port = probe.getsockname()[1]
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.02)
        self.address = f"http://127.0.0.1:{self.port}"

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=PATIENCE)
        assert not self._thread.is_alive(), "the server does not end"


@pytest.fixture
def serve():
    """Starts an application; ends it with the test."""
    servers = []

    def start(app, port: int = 0) -> Server:
        servers.append(Server(app, port))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


class SlowHandle(TrackerHandle):
    """A tracker that leaves the test time to press keys."""

    seconds = 0.03

    def update(self, frame):
        time.sleep(self.seconds)
        return super().update(frame)


class UserPage:
    """The page as a person uses it; the page's own rules (no eval) stay in force."""

    def __init__(self, page, address: str) -> None:
        self.page, self.problems = page, []
        self.expected: tuple[str, ...] = ()  # parts of problems that the test brings about itself
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.problems.append(message.text))
        page.goto(address)

    def __getattr__(self, name):
        return getattr(self.page, name)

    def state(self, expression: str):
        """An expression about the page's ``state``."""
        return self.page.evaluate(f"(({{ state }}) => {expression})(trackingPage)")

    def until(self, expression: str) -> None:
        """Waits until an expression about ``state`` holds and the page has drawn it."""
        self.wait(lambda: self.state(f"Boolean({expression})"), expression)
        self.drawn()

    def wait(self, is_true, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not is_true():
            assert time.monotonic() < end, f"{what}; the page says: {self.status}"
            self.page.wait_for_timeout(30)

    def drawn(self) -> None:
        """Waits for the next frames of the screen: the state changes at once, what is seen of it with the frame."""
        self.page.evaluate(
            """() => new Promise((resolve) => {
              const wait = (left) => (left ? requestAnimationFrame(() => wait(left - 1)) : resolve());
              wait(3); // the page asks for one, its timeline for another
            })"""
        )

    @property
    def status(self) -> str:
        return self.page.inner_text("#status")

    def says(self, text: str) -> None:
        """Waits until the status line has this text."""
        self.wait(lambda: text in self.status, f"the status is to say '{text}'")

    def shows(self, selector: str, text: str) -> None:
        """Waits until an element has this text."""
        self.wait(lambda: text in self.page.inner_text(selector), f"{selector} is to show '{text}'")

    def choose_demo(self, name: str) -> None:
        self.page.click(f"#gallery button:has-text('{name}') >> nth=0")
        self.until(f"state.video?.title === 'demo: {name}' && state.picture && state.shown === 0")
        self.until("state.choice.objects.length === 1")

    def track(self, *trackers: str) -> None:
        if trackers:
            self.page.select_option("#more", trackers[0])
            self.page.select_option("#compare", trackers[1] if len(trackers) > 1 else "")
        self.page.click("#start")

    def drag(self, box: list[float], canvas: str = "#view-a") -> None:
        """Draws a box, given in pixels of the picture, with the mouse."""
        self.drawn()
        self.page.locator(canvas).scroll_into_view_if_needed()
        area = self.page.locator(canvas).bounding_box()
        width, height = self.page.eval_on_selector(canvas, "canvas => [canvas.width, canvas.height]")
        right, down = area["width"] / width, area["height"] / height
        corners = [(box[0] + part * box[2], box[1] + part * box[3]) for part in (0, 0.5, 1)]
        (x0, y0), *rest = [(area["x"] + x * right, area["y"] + y * down) for x, y in corners]
        self.page.mouse.move(x0, y0)
        self.page.mouse.down()
        for x, y in rest:
            self.page.mouse.move(x, y)
        self.page.mouse.up()

    def seek(self, part: float) -> None:
        """Clicks the timeline at a part of its length."""
        self.drawn()
        area = self.page.locator("#timeline").bounding_box()
        left, right = area["x"] + 34, area["x"] + area["width"] - 8
        self.page.mouse.click(left + part * (right - left), area["y"] + area["height"] / 3)


@pytest.fixture
def open_page(browser, serve, tmp_path):
    """Opens the page of a server with these settings."""
    from pytracking.evaluation import get_dataset
    from pytracking.web.app import create_app
    from pytracking.web.settings import WebSettings

    get_dataset("demo")  # rendered before the clock of the page's time-outs runs
    opened = []

    def make(*, load=None, viewport=(1280, 800), permissions=(), context=None, **settings) -> UserPage:
        settings = {"default_tracker": TRACKERS[0], "trackers": TRACKERS, **settings}
        load = load or (lambda name: SlowHandle(*name.split("/")))
        server = serve(create_app(WebSettings(uploads=tmp_path / "uploads", **settings), load=load))
        size = {"width": viewport[0], "height": viewport[1]}
        made = browser.new_context(viewport=size, permissions=list(permissions), **(context or {}))
        page = UserPage(made.new_page(), server.address)
        page.server, page.context = server, made
        opened.append(page)
        page.wait_for_selector("#gallery button, #status.error", state="attached")
        page.until("document.querySelectorAll('#compare option').length > 1")
        return page

    yield make
    for page in opened:
        problems = [problem for problem in page.problems if not any(part in problem for part in page.expected)]
        assert problems == [], "scripts on the page failed"
        page.context.close()


@pytest.fixture
def folder(tmp_path):
    from tests.web.client import write_video

    (tmp_path / "served" / "deep").mkdir(parents=True)
    write_video(tmp_path / "served" / "deep" / "clip.avi")
    write_video(tmp_path / "secret.avi")
    (tmp_path / "served" / "link.avi").symlink_to(tmp_path / "secret.avi")
    (tmp_path / "served" / "notes.txt").write_text("private")
    return tmp_path / "served"
