"""The websocket of a page: passes messages between the page and its tracking session."""
import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from pytracking.web.camera import MAX_PICTURE, CameraVideo
from pytracking.web.catalog import Catalog
from pytracking.web.library import Video, VideoLibrary
from pytracking.web.messages import CAMERA, MessageError, Start, parse_message, to_json
from pytracking.web.runs import RunStore
from pytracking.web.security import client_of
from pytracking.web.session import TrackingSession
from pytracking.web.settings import WebSettings
from pytracking.web.uploads import UploadStore

MAX_UNSENT = 1000  # messages; frames wait for the page, so only answers to invalid messages pile up
TRY_AGAIN_LATER = 1013  # websocket close code


@dataclass
class Page:
    """One connection: its client, unsent messages and session."""

    client: str
    outbox: asyncio.Queue[dict[str, Any] | bytes] = field(default_factory=asyncio.Queue)
    session: TrackingSession | None = None


class Tracking:
    """The websocket endpoint; limits the number of connections and sessions."""

    def __init__(
        self, settings: WebSettings, library: VideoLibrary, uploads: UploadStore, catalog: Catalog, runs: RunStore,
        load: Callable,
    ) -> None:  # fmt: skip
        self._settings, self._library, self._uploads = settings, library, uploads
        self._catalog, self._runs, self._load = catalog, runs, load
        self._sessions: dict[TrackingSession, str] = {}  # with their client
        self._pages = 0

    async def serve(self, socket: WebSocket) -> None:
        """Serves one connection: a ``start`` message begins a session, and the next one or a closed page ends it."""
        await socket.accept()
        if self._pages >= self._settings.max_pages:
            refusal = {"type": "refused", "message": "the server is busy: too many pages are open"}
            await socket.send_text(to_json(refusal))
            await socket.close(TRY_AGAIN_LATER)
            return
        self._pages += 1
        page = Page(client_of(socket))
        sender = asyncio.create_task(_send_all(socket, page.outbox))
        try:
            while page.outbox.qsize() < MAX_UNSENT:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    await self._handle(message, page)
                except MessageError as error:
                    page.outbox.put_nowait({"type": "refused", "message": str(error)})
            await socket.close(TRY_AGAIN_LATER)  # the page sends messages but does not read the answers
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self._pages -= 1
            await self._close(page)
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await sender

    async def _handle(self, message: dict[str, Any], page: Page) -> None:
        picture, session = message.get("bytes"), page.session
        if picture is not None:
            if session is None or len(picture) > MAX_PICTURE:
                raise MessageError(f"pictures need a camera session and may have at most {MAX_PICTURE} bytes")
            session.take_picture(picture)
            return
        request = parse_message(message.get("text") or "")
        if isinstance(request, Start):
            await self._restart(page, request)
        elif session is None:
            raise MessageError("nothing is being tracked; send 'start' first")
        elif request.run == session.run.id:  # late messages about an earlier run are ignored
            session.steering.handle(request)

    async def _restart(self, page: Page, start: Start) -> None:
        await self._close(page)
        for name in start.trackers:
            if problem := await run_in_threadpool(self._catalog.problem, name):
                raise MessageError(problem)
        video = await self._video(start.video)
        self._check_room(page.client)
        loop = asyncio.get_running_loop()
        try:
            run = self._runs.new(video, start)
        except OSError as error:
            raise MessageError(f"the server cannot keep frames: {error.strerror}") from error
        page.session = session = TrackingSession(
            run, self._load, lambda message: loop.call_soon_threadsafe(page.outbox.put_nowait, message), self._settings
        )
        page.outbox.put_nowait({"type": "started", "run": run.id, "trackers": list(start.trackers)})
        session.hold.enter_context(self._uploads.using(video.id))
        self._sessions[session] = page.client
        session.begin()

    def _check_room(self, client: str) -> None:
        running = [owner for session, owner in self._sessions.items() if session.running]
        if len(running) >= self._settings.max_sessions:
            raise MessageError(f"the server is busy: it already tracks {len(running)} videos; try again in a moment")
        own = running.count(client)
        if own >= self._settings.per_client(self._settings.max_sessions):
            raise MessageError(f"you already track {own} videos here; end one of them first")

    async def _video(self, video_id: str) -> Video:
        if video_id == CAMERA:
            return CameraVideo(self._settings.decoder)
        try:
            return await run_in_threadpool(self._library.get, video_id)
        except KeyError as error:
            raise MessageError("this video is no longer on the server; choose another or upload it again") from error

    async def _close(self, page: Page) -> None:
        session, page.session = page.session, None
        if session is not None:
            await run_in_threadpool(session.end)
            session.hold.close()
            del self._sessions[session]


async def _send_all(socket: WebSocket, outbox: asyncio.Queue) -> None:
    while True:
        message = await outbox.get()
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(to_json(message))
