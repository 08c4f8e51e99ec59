"""Stores uploaded files within quotas per server and per client, leaving some disk space free."""
import asyncio
import secrets
import shutil
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ltr.errors import UserError
from pytracking.web.settings import VIDEO_SUFFIXES, WebSettings


class UploadError(UserError):
    """A refused upload; the message says why, and ``status`` is the HTTP status."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Upload:
    """An uploaded file, possibly still incomplete."""

    id: str
    title: str
    path: Path
    client: str  # the address that it came from
    size: int = 0
    complete: bool = False
    last_used: float = field(default_factory=time.monotonic)


class UploadStore:
    """Stores files and makes room for them.

    A client's own oldest upload is removed first. Other clients' uploads are removed only if unused for an hour, and
    none while being tracked. Bytes count as they arrive, so that parallel uploads cannot exceed a limit. ``on_remove``
    is called with the id of each removed upload.
    """

    def __init__(self, settings: WebSettings, on_remove: Callable[[str], None]) -> None:
        self._settings, self._on_remove = settings, on_remove
        self._uploads: dict[str, Upload] = {}  # the oldest first
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()
        settings.uploads.mkdir(parents=True, exist_ok=True)

    def complete(self) -> list[Upload]:
        """Returns the complete uploads, oldest first."""
        with self._lock:
            return [upload for upload in self._uploads.values() if upload.complete]

    def touch(self, upload_id: str) -> None:
        """Marks an upload as used now; ignores the ids of other videos."""
        with self._lock:
            if upload_id in self._uploads:
                self._uploads[upload_id].last_used = time.monotonic()

    @contextmanager
    def using(self, upload_id: str) -> Iterator[None]:
        """Protects an upload from being removed for another during a ``with`` block."""
        with self._lock:
            self._in_use[upload_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_use[upload_id] -= 1
                if not self._in_use[upload_id]:
                    del self._in_use[upload_id]
            self.touch(upload_id)

    async def receive(self, file_name: str, client: str, chunks: AsyncIterator[bytes]) -> Upload:
        """Stores a file under a generated name; :meth:`accept` or :meth:`remove` must follow.

        Raises an UploadError and keeps nothing if the file is too large or of another type, or if there is no room.
        """
        title = Path(file_name.replace("\\", "/")).name[:80] or "video"
        suffix = Path(title).suffix.lower()
        if suffix not in VIDEO_SUFFIXES:
            raise UploadError(f"'{title}' is not a video file ({', '.join(VIDEO_SUFFIXES)})", 415)
        upload_id = secrets.token_urlsafe(9)
        upload = Upload(upload_id, title, self._settings.uploads / f"{upload_id}{suffix}", client)
        with self._lock:
            self._make_room(client, files=1)
            self._uploads[upload_id] = upload
        try:
            await self._store(upload, chunks)
        except BaseException:
            self.remove(upload_id)
            raise
        return upload

    async def _store(self, upload: Upload, chunks: AsyncIterator[bytes]) -> None:
        iterator = aiter(chunks)
        with open(upload.path, "wb") as stream:
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(iterator), self._settings.upload_stall_seconds)
                except StopAsyncIteration:
                    break
                except asyncio.TimeoutError as error:  # not yet TimeoutError in Python 3.10
                    raise UploadError("the upload stalled; try again", 408) from error
                with self._lock:
                    self._grow(upload, len(chunk))
                stream.write(chunk)
        if upload.size == 0:
            raise UploadError("the file is empty")

    def _grow(self, upload: Upload, count: int) -> None:
        if upload.size + count > self._settings.max_upload_bytes:
            raise UploadError(f"the file is larger than {self._settings.max_upload_bytes / 2**20:.0f} MiB", 413)
        self._make_room(upload.client, count)
        if shutil.disk_usage(self._settings.uploads).free < self._settings.min_free_bytes + count:
            raise UploadError("the server's disk is full", 507)
        upload.size += count

    def accept(self, upload_id: str) -> None:
        """Offers the upload from now on, as it proved to be a video."""
        with self._lock:
            self._uploads[upload_id].complete = True

    def remove(self, upload_id: str) -> None:
        """Removes an upload."""
        with self._lock:
            self._remove(upload_id)

    def _remove(self, upload_id: str) -> None:
        upload = self._uploads.pop(upload_id, None)
        if upload is not None:
            self._on_remove(upload_id)
            with suppress(OSError):  # the folder is emptied when the server ends
                upload.path.unlink(missing_ok=True)

    def _make_room(self, client: str, size: int = 0, files: int = 0) -> None:
        """Removes uploads until ``size`` more bytes and ``files`` more files fit; UploadError if that is impossible."""
        while problem := self._problem(client, size, files):
            removable = [one for one in self._uploads.values() if one.complete and not self._in_use[one.id]]
            own = [one for one in removable if one.client == client]
            long_ago = time.monotonic() - self._settings.upload_keep_seconds
            old = [one for one in removable if one.last_used < long_ago]
            if not own and not old:
                raise UploadError(problem, 507)
            self._remove((own or old)[0].id)

    def _problem(self, client: str, size: int, files: int) -> str | None:
        """Returns which quota this much more would exceed, the client's or the server's; None if it fits."""
        max_files, max_bytes = self._settings.max_uploads, 4 * self._settings.max_upload_bytes
        per_client = self._settings.per_client
        everything = list(self._uploads.values())
        own = [one for one in everything if one.client == client]
        for uploads, most_files, most_bytes, whose in (
            (own, per_client(max_files), per_client(max_bytes), "your uploads"),
            (everything, max_files, max_bytes, "all uploads together"),
        ):
            if len(uploads) + files > most_files or sum(one.size for one in uploads) + size > most_bytes:
                return f"the server has no room for more: {whose} fill it, and they are in use"
        return None
