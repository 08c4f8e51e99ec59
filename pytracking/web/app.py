"""The server: pages, videos, downloads over HTTP, and a websocket that tracks."""
from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import cv2
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.tracker import Tracker, parameter_names, tracker_names
from pytracking.video.sources import VideoError
from pytracking.web.downloads import RunStore
from pytracking.web.library import UploadError, Video, VideoLibrary
from pytracking.web.messages import MessageError, Start, parse_message
from pytracking.web.session import TrackingSession
from pytracking.web.settings import WebSettings, is_loopback

STATIC = Path(__file__).with_name("static")
TOKEN_COOKIE = "pytracking_token"
NEEDS_ANSWERS = ("oracle",)  # looks at annotations, which a user's video does not have


def create_app(settings: WebSettings) -> Starlette:
    """The application; ``settings`` decides what it offers and to whom."""
    server = TrackingServer(settings)
    hosts = ["127.0.0.1", "localhost", "[::1]", "testserver"] if is_loopback(settings.host) else ["*"]
    return Starlette(
        routes=[
            Route("/", server.index),
            Route("/api/videos", server.videos, methods=["GET"]),
            Route("/api/videos", server.upload, methods=["POST"]),
            Route("/api/videos/{video_id}/first.jpg", server.first_frame),
            Route("/api/trackers", server.trackers),
            Route("/api/runs/{run_id}/boxes.csv", server.boxes),
            Route("/api/runs/{run_id}/video.mp4", server.video),
            WebSocketRoute("/api/track", server.track),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            # a page elsewhere must not reach this server by a name that it makes point to loopback
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts),
            Middleware(TokenGate, token=settings.token),
        ],
        exception_handlers={Exception: _no_traceback},
    )


async def _no_traceback(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"{type(error).__name__}: the server could not answer this"}, 500)


class TokenGate:
    """Lets in only who knows the token, as ``?token=`` once and as a cookie from then on."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._token is None or scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        given = connection.query_params.get("token") or connection.cookies.get(TOKEN_COOKIE, "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            refusal = PlainTextResponse("this server wants the token that it printed when it was started\n", 403)
            await refusal(scope, receive, send)
            return

        async def send_with_cookie(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                cookie = f"{TOKEN_COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
                message["headers"] = [*message["headers"], (b"set-cookie", cookie.encode())]
            await send(message)

        await self._app(scope, receive, send_with_cookie)


class TrackingServer:
    """The endpoints and what they share."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._library = VideoLibrary(settings)
        self._runs = RunStore(settings.max_results)
        self._sessions: set[TrackingSession] = set()

    async def index(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def videos(self, request: Request) -> Response:
        found = await run_in_threadpool(self._library.list)
        return JSONResponse([_public(video) for video in found])

    async def upload(self, request: Request) -> Response:
        """The body is the file itself; its name comes in the query."""
        try:
            video = await self._library.add_upload(request.query_params.get("name", ""), request.stream())
        except UploadError as error:
            return JSONResponse({"error": str(error)}, error.status)
        return JSONResponse(_public(video), 201)

    async def first_frame(self, request: Request) -> Response:
        try:
            frame = await run_in_threadpool(self._library.first_frame, request.path_params["video_id"])
        except KeyError:
            return _missing("video")
        except VideoError as error:
            return JSONResponse({"error": str(error)}, 422)
        _, data = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        return Response(data.tobytes(), media_type="image/jpeg", headers={"Cache-Control": "no-store"})

    async def trackers(self, request: Request) -> Response:
        return JSONResponse({"trackers": self._offered(), "default": self._settings.default_tracker})

    def _offered(self) -> list[str]:
        if self._settings.trackers:
            return list(self._settings.trackers)
        names = [name for name in tracker_names() if name not in NEEDS_ANSWERS]
        return [f"{name}/{parameter}" for name in names for parameter in parameter_names(name)]

    async def boxes(self, request: Request) -> Response:
        try:
            run = self._runs.get(request.path_params["run_id"])
        except KeyError:
            return _missing("run")
        headers = {"Content-Disposition": 'attachment; filename="boxes.csv"'}
        return Response(run.csv(), media_type="text/csv", headers=headers)

    async def video(self, request: Request) -> Response:
        try:
            run = self._runs.get(request.path_params["run_id"])
        except KeyError:
            return _missing("run")
        if not run.rows:
            return _missing("frame in this run")
        folder = tempfile.TemporaryDirectory(dir=self._settings.uploads)
        path = Path(folder.name) / "tracked.mp4"
        try:
            await run_in_threadpool(run.write_video, path)
        except OSError as error:
            folder.cleanup()
            return JSONResponse({"error": str(error)}, 422)
        return FileResponse(path, filename="tracked.mp4", background=BackgroundTask(folder.cleanup))

    async def track(self, socket: WebSocket) -> None:
        """One connection, one session after the other: ``start`` begins, closing the page ends."""
        if not _same_origin(socket):
            await socket.close(code=4403)
            return
        await socket.accept()
        outbox: asyncio.Queue[tuple[dict[str, Any], bytes | None]] = asyncio.Queue()
        sender = asyncio.create_task(_send_all(socket, outbox))
        session: TrackingSession | None = None
        try:
            while True:
                text = await socket.receive_text()
                try:
                    message = parse_message(text)
                    if isinstance(message, Start):
                        session = await self._restart(session, message, outbox)
                    elif session is not None:
                        session.steering.hear(message)
                    else:
                        raise MessageError("nothing is being tracked; send 'start' first")
                except MessageError as error:
                    await outbox.put(({"type": "refused", "message": str(error)}, None))
        except (WebSocketDisconnect, KeyError, RuntimeError):  # closed, or a binary message, which we never asked for
            pass
        finally:
            await self._close(session)
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await sender

    async def _restart(self, old: TrackingSession | None, start: Start, outbox: asyncio.Queue) -> TrackingSession:
        await self._close(old)
        unknown = [name for name in start.trackers if name not in self._offered()]
        if unknown:
            raise MessageError(f"there is no tracker '{unknown[0]}'")
        try:
            video = await run_in_threadpool(self._library.get, start.video)
        except KeyError as error:
            raise MessageError("there is no such video (any more)") from error
        running = sum(session.running for session in self._sessions)
        if running >= self._settings.max_sessions:
            raise MessageError(f"the server tracks {running} videos already; try again in a moment")
        loop = asyncio.get_running_loop()

        def emit(message: dict[str, Any], picture: bytes | None) -> None:
            loop.call_soon_threadsafe(outbox.put_nowait, (message, picture))

        session = TrackingSession(
            start, video, load_tracker, emit,
            in_flight=self._settings.frames_in_flight, idle_seconds=self._settings.idle_seconds,
        )
        run = self._runs.new(video, session.rows)
        await outbox.put(({"type": "started", "run": run.id, "trackers": list(start.trackers)}, None))
        self._sessions.add(session)
        session.begin()
        return session

    async def _close(self, session: TrackingSession | None) -> None:
        if session is not None:
            await run_in_threadpool(session.end)
            self._sessions.discard(session)


def load_tracker(name: str) -> TrackerHandle:
    """A tracker by ``tracker/parameter``, with its score map where it has one."""
    tracker, _, parameter = name.partition("/")
    existing = {field.name for field in fields(Tracker(tracker, parameter).get_parameters())}
    overrides = {"output_score_map": True} if "output_score_map" in existing else {}
    return TrackerHandle(tracker, parameter, overrides=overrides)


async def _send_all(socket: WebSocket, outbox: asyncio.Queue) -> None:
    while True:
        message, picture = await outbox.get()
        if picture is None:
            await socket.send_text(json.dumps(message))
        else:
            head = json.dumps(message).encode()
            await socket.send_bytes(len(head).to_bytes(4, "big") + head + picture)


def _same_origin(socket: WebSocket) -> bool:
    """Browsers send the page's origin; a page of somebody else must not steer this server."""
    origin, host = socket.headers.get("origin"), socket.headers.get("host")
    return origin is None or origin.split("://")[-1] == host


def _public(video: Video) -> dict[str, Any]:
    return {"id": video.id, "title": video.title, "kind": video.kind, "suggested_box": video.suggested_box}


def _missing(what: str) -> Response:
    return JSONResponse({"error": f"there is no such {what} (any more)"}, 404)
