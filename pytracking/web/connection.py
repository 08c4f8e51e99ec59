"""One page's websocket: what it says goes to its session, what the session says goes to the page."""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from pytracking.web.camera import MAX_PICTURE, CameraSource, CameraVideo
from pytracking.web.catalog import Catalog
from pytracking.web.library import Video, VideoLibrary
from pytracking.web.messages import CAMERA, MessageError, Start, parse_message, to_json
from pytracking.web.runs import RunStore
from pytracking.web.session import TrackingSession
from pytracking.web.settings import WebSettings


class Tracking:
    """What all connections share: the videos, the trackers, the runs, and how many sessions there may be."""

    def __init__(
        self, settings: WebSettings, library: VideoLibrary, catalog: Catalog, runs: RunStore, load: Callable
    ) -> None:
        self._settings, self._library, self._catalog, self._runs = settings, library, catalog, runs
        self._load = load
        self._sessions: set[TrackingSession] = set()

    async def serve(self, socket: WebSocket) -> None:
        """One connection, one session after the other: ``start`` begins, closing the page ends."""
        await socket.accept()
        outbox: asyncio.Queue[dict[str, Any] | bytes] = asyncio.Queue()
        sender = asyncio.create_task(_send_all(socket, outbox))
        session: TrackingSession | None = None
        try:
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    session = await self._hear(message, session, outbox)
                except MessageError as error:
                    await outbox.put({"type": "refused", "message": str(error)})
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            await self._close(session)
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await sender

    async def _hear(
        self, message: dict[str, Any], session: TrackingSession | None, outbox: asyncio.Queue
    ) -> TrackingSession | None:
        picture = message.get("bytes")
        if picture is not None:
            if session is None or len(picture) > MAX_PICTURE:
                raise MessageError(f"pictures come from a camera that is being tracked, {MAX_PICTURE} bytes at most")
            session.take_picture(picture)
            return session
        asked = parse_message(message.get("text") or "")
        if isinstance(asked, Start):
            return await self._restart(session, asked, outbox)
        if session is None:
            raise MessageError("nothing is being tracked; send 'start' first")
        if asked.run == session.run.id:  # a word about an earlier run came too late
            session.steering.hear(asked)
        return session

    async def _restart(
        self, old: TrackingSession | None, start: Start, outbox: asyncio.Queue
    ) -> TrackingSession:
        await self._close(old)
        for name in start.trackers:
            if problem := await run_in_threadpool(self._catalog.problem, name):
                raise MessageError(problem)
        video = await self._video(start.video)
        running = sum(session.running for session in self._sessions)
        if running >= self._settings.max_sessions:
            raise MessageError(f"the server is busy: it already tracks {running} videos; try again in a moment")
        loop = asyncio.get_running_loop()
        run = self._runs.new(video, start)
        session = TrackingSession(
            run, self._load, lambda message: loop.call_soon_threadsafe(outbox.put_nowait, message), self._settings
        )
        await outbox.put({"type": "started", "run": run.id, "trackers": list(start.trackers)})
        session.hold.enter_context(self._library.using(video))
        self._sessions.add(session)
        session.begin()
        return session

    async def _video(self, video_id: str) -> Video:
        if video_id == CAMERA:
            return CameraVideo(CameraSource())
        try:
            return await run_in_threadpool(self._library.get, video_id)
        except KeyError as error:
            raise MessageError("this video is no longer on the server; choose another or upload it again") from error

    async def _close(self, session: TrackingSession | None) -> None:
        if session is not None and session in self._sessions:
            await run_in_threadpool(session.end)
            session.hold.close()
            self._sessions.discard(session)


async def _send_all(socket: WebSocket, outbox: asyncio.Queue) -> None:
    while True:
        message = await outbox.get()
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(to_json(message))
