"""The server: page, videos, frames and downloads over HTTP, and a websocket for tracking."""
import contextlib
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from ltr.errors import UserError
from pytracking.utils.image_io import encode_jpeg
from pytracking.utils.video_writer import browser_suffix
from pytracking.video.sources import VideoError
from pytracking.web.catalog import Catalog, load_tracker
from pytracking.web.connection import Tracking
from pytracking.web.library import Video, VideoLibrary
from pytracking.web.messages import to_json
from pytracking.web.previews import Previews
from pytracking.web.runs import Run, RunStore
from pytracking.web.security import Gate, client_of, without_paths
from pytracking.web.settings import WebSettings
from pytracking.web.uploads import UploadError, UploadStore

STATIC = Path(__file__).with_name("static")
THUMBNAIL_WIDTH = 240  # pixels: about 10 KB each
VIDEOS_AT_ONCE = 2  # written for downloads in parallel
NO_STORE = {"Cache-Control": "no-store"}


def create_app(settings: WebSettings, load: Callable = load_tracker) -> Starlette:
    """Creates the application; ``settings`` decides what it offers and to whom, ``load`` creates trackers by name."""
    previews, catalog, runs = Previews(), Catalog(settings), RunStore(settings)
    uploads = UploadStore(settings, on_remove=previews.forget)
    library = VideoLibrary(settings, uploads)
    pages = Pages(settings, library, uploads, previews, catalog, runs)
    tracking = Tracking(settings, library, uploads, catalog, runs, load)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        runs.close()
        previews.close()

    return Starlette(
        routes=[
            Route("/", pages.index),
            Route("/api/server", pages.server),
            Route("/api/videos", pages.videos, methods=["GET"]),
            Route("/api/videos", pages.upload, methods=["POST"]),
            Route("/api/videos/{video_id}", pages.video),
            Route("/api/videos/{video_id}/thumbnail.jpg", pages.thumbnail),
            Route("/api/videos/{video_id}/frames/{index:int}.jpg", pages.frame),
            Route("/api/trackers", pages.trackers),
            Route("/api/runs/{run_id}", pages.run),
            Route("/api/runs/{run_id}/frames/{index:int}", pages.run_frame),
            Route("/api/runs/{run_id}/boxes.csv", pages.boxes_csv),
            Route("/api/runs/{run_id}/boxes.json", pages.boxes_json),
            Route("/api/runs/{run_id}/mot.txt", pages.boxes_mot),
            Route("/api/runs/{run_id}/video", pages.run_video),
            WebSocketRoute("/api/track", tracking.serve),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Gate, hosts=settings.allowed_hosts(), token=settings.token)],
        exception_handlers={HTTPException: _http_error, Exception: _no_traceback},
        lifespan=lifespan,
    )


async def _http_error(request: Request, error: HTTPException) -> Response:
    return JSONResponse({"error": error.detail}, error.status_code)


async def _no_traceback(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"{type(error).__name__}: the server could not answer this"}, 500)


class Pages:
    """The HTTP endpoints."""

    def __init__(
        self, settings: WebSettings, library: VideoLibrary, uploads: UploadStore, previews: Previews, catalog: Catalog,
        runs: RunStore,
    ) -> None:  # fmt: skip
        self._settings, self._library, self._uploads, self._previews = settings, library, uploads, previews
        self._catalog, self._runs = catalog, runs
        self._boot = secrets.token_urlsafe(9)  # identifies this server process
        self._thumbnails = lru_cache(maxsize=256)(lambda video: encode_jpeg(previews.frame(video, 0), THUMBNAIL_WIDTH))
        self._writing = 0

    async def index(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    async def server(self, request: Request) -> Response:
        """Lets the page check that the server is alive and has not been restarted."""
        suffix = await run_in_threadpool(browser_suffix)
        return JSONResponse({"boot": self._boot, "video_suffix": suffix}, headers=NO_STORE)

    async def videos(self, request: Request) -> Response:
        found = await run_in_threadpool(self._library.list)
        return JSONResponse([video.public() for video in found], headers=NO_STORE)

    async def upload(self, request: Request) -> Response:
        """Takes a file as the request's body and its name from the query."""
        try:
            name = request.query_params.get("name", "")
            upload = await self._uploads.receive(name, client_of(request), request.stream())
            try:
                video = self._library.uploaded(upload)
                await run_in_threadpool(self._previews.frame, video, 0)
            except BaseException:  # whatever went wrong, the upload must not count towards the quota
                self._uploads.remove(upload.id)
                raise
            self._uploads.accept(upload.id)
        except VideoError:
            return JSONResponse({"error": f"'{video.title}' cannot be decoded as a video"}, 415)
        except OSError as error:
            return JSONResponse({"error": f"the server could not store the video: {error.strerror}"}, 507)
        except UploadError as error:
            return JSONResponse({"error": str(error)}, error.status)
        return JSONResponse(video.public(), 201)

    async def video(self, request: Request) -> Response:
        """Describes a video, with its length and frame rate."""
        video = await self._found(request)

        def measure() -> dict:
            with self._previews.source(video) as source:
                return {**video.public(), "length": source.length, "fps": source.fps}

        return JSONResponse(await self._reading(video, measure), headers=NO_STORE)

    async def thumbnail(self, request: Request) -> Response:
        video = await self._found(request)
        data = await self._reading(video, lambda: self._thumbnails(video))
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})

    async def frame(self, request: Request) -> Response:
        video, index = await self._found(request), request.path_params["index"]
        width = request.query_params.get("width", "")
        most = max(16, int(width)) if width.isdecimal() and len(width) < 6 else None
        data = await self._reading(video, lambda: encode_jpeg(self._previews.frame(video, index), most))
        return Response(data, media_type="image/jpeg", headers=NO_STORE)

    async def trackers(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._catalog.public))

    async def run(self, request: Request) -> Response:
        run = self._run(request)
        text = await run_in_threadpool(lambda: to_json(run.summary()))
        return Response(text, media_type="application/json", headers=NO_STORE)

    async def run_frame(self, request: Request) -> Response:
        """Returns a frame as the websocket sent it: its message, then its picture."""
        run = self._run(request)
        try:
            _, data = await run_in_threadpool(run.frames.get, request.path_params["index"])
        except KeyError as error:
            raise HTTPException(404, "this frame is no longer on the server") from error
        headers = {"X-Stride": str(run.frames.stride), **NO_STORE}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def boxes_csv(self, request: Request) -> Response:
        run = self._run(request)
        return _download(await run_in_threadpool(run.csv), "text/csv", f"{run.file_stem()}.csv")

    async def boxes_json(self, request: Request) -> Response:
        run = self._run(request)
        return _download(await run_in_threadpool(run.json), "application/json", f"{run.file_stem()}.json")

    async def boxes_mot(self, request: Request) -> Response:
        run, tracker = self._run(request), request.query_params.get("tracker", "")
        if tracker not in run.start.trackers:
            raise HTTPException(404, "this run has no such tracker")
        return _download(await run_in_threadpool(run.mot, tracker), "text/plain", f"{run.file_stem(tracker)}_mot.txt")

    async def run_video(self, request: Request) -> Response:
        run = self._run(request)
        if not len(run.log):
            raise HTTPException(404, "this run has no frames")
        if self._writing >= VIDEOS_AT_ONCE:
            raise HTTPException(503, "the server is busy writing other videos; try again in a moment")
        self._writing += 1
        try:
            return await self._write_video(run)
        finally:
            self._writing -= 1

    async def _write_video(self, run: Run) -> Response:
        make = partial(tempfile.TemporaryDirectory, dir=self._settings.uploads)
        folder: tempfile.TemporaryDirectory = await self._reading(run.video, make)
        path = Path(folder.name) / f"tracked{await run_in_threadpool(browser_suffix)}"
        try:
            await self._reading(run.video, lambda: run.write_video(path))
        except HTTPException:
            folder.cleanup()
            raise
        kind = "video/mp4" if path.suffix == ".mp4" else "video/webm"
        return FileResponse(
            path, media_type=kind, filename=f"{run.file_stem()}{path.suffix}", background=BackgroundTask(folder.cleanup)
        )

    async def _found(self, request: Request) -> Video:
        try:
            return await run_in_threadpool(self._library.get, request.path_params["video_id"])
        except KeyError as error:
            raise HTTPException(404, "this video is no longer on the server") from error

    def _run(self, request: Request) -> Run:
        try:
            return self._runs.get(request.path_params["run_id"])
        except KeyError as error:
            raise HTTPException(404, "this run is no longer on the server") from error

    async def _reading(self, video: Video, read: Callable) -> Any:
        try:
            return await run_in_threadpool(read)
        except (UserError, OSError) as error:
            raise HTTPException(422, without_paths(str(error), {video.path: video.title})) from error


def _download(text: str, kind: str, name: str) -> Response:
    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(text, media_type=kind, headers={"Content-Disposition": disposition, **NO_STORE})
