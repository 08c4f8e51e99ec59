"""Asks for the first box in a browser, for machines without a screen."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import cv2
import numpy as np

from pytracking.web.messages import MessageError, parse_object, targets

STATIC = Path(__file__).with_name("static")
FILES = {
    "/": ("ask_box.html", "text/html; charset=utf-8"),
    "/static/ask_box.js": ("ask_box.js", "text/javascript; charset=utf-8"),
    "/static/shared/drawing.js": ("shared/drawing.js", "text/javascript; charset=utf-8"),
    "/static/shared/colours.js": ("shared/colours.js", "text/javascript; charset=utf-8"),
    "/static/shared/style.css": ("shared/style.css", "text/css; charset=utf-8"),
    "/static/page.css": ("page.css", "text/css; charset=utf-8"),
}
MAX_BODY = 4096
HOSTS = ("127.0.0.1", "localhost")
POLICY = "default-src 'self'; img-src 'self' blob: data:; base-uri 'none'; frame-ancestors 'none'"


def ask_in_browser(frame: np.ndarray, port: int = 0) -> list[float]:
    """Serves the frame on the loopback address until a box is drawn on it; returns the box."""
    answered = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(frame, answered))
    server.box = None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(
        f"draw the box in a browser: http://127.0.0.1:{server.server_port}/\n"
        f"(from another machine: ssh -L {server.server_port}:127.0.0.1:{server.server_port} THIS_MACHINE; "
        "or give --optional_box x y w h)",
        flush=True,
    )
    try:
        while not answered.wait(0.2):  # with a timeout, so that Ctrl-C is noticed
            pass
    finally:
        server.shutdown()
        server.server_close()
    return list(server.box)


def _handler(frame: np.ndarray, answered: threading.Event) -> type[BaseHTTPRequestHandler]:
    _, picture = cv2.imencode(".png", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self._is_allowed():
                return
            if self.path == "/frame.png":
                self._answer(200, picture.tobytes(), "image/png")
            elif self.path in FILES:
                name, kind = FILES[self.path]
                self._answer(200, (STATIC / name).read_bytes(), kind)
            else:
                self._answer(404, b"not found\n", "text/plain")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self._is_allowed():
                return
            if self.path != "/box" or not length.isdecimal() or int(length) > MAX_BODY:
                self._answer(400, b"not understood\n", "text/plain")
                return
            try:
                boxes = targets(parse_object(self.rfile.read(int(length)).decode("utf-8", "replace")))
            except MessageError as error:
                self._answer(400, json.dumps({"error": str(error)}).encode(), "application/json")
                return
            self.server.box = boxes[0].box
            self._answer(200, b"{}", "application/json")
            answered.set()

        def _is_allowed(self) -> bool:
            """Whether the request is for this machine and comes from this page or from no page; answers 403 if not."""
            host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
            allowed = host.rpartition(":")[0] in HOSTS and (origin is None or urlsplit(origin).netloc == host)
            if not allowed:
                self._answer(403, b"requests from other pages or for other hosts are refused\n", "text/plain")
            return allowed

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Logs nothing: the terminal shows a progress bar."""

    return Handler
