"""Uploaded files on disk, within quotas: of the server, of each client, and with some of the disk left free."""
from __future__ import annotations

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
    """An upload that is refused; the message says why. ``status`` is the HTTP answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Upload:
    """One file, from its first byte on."""

    id: str
    title: str
    path: Path
    client: str  # whose it is: the address it came from
    size: int = 0
    complete: bool = False
    last_used: float = field(default_factory=time.monotonic)


class UploadStore:
    """Takes files and makes room for them.

    A client's own oldest upload goes first. Those of others go only if nobody has looked at them for an hour, and none
    goes that is being tracked. What is still arriving counts, and parallel uploads cannot exceed a limit. ``on_remove``
    is called with the id of an upload that goes.
    """

    def __init__(self, settings: WebSettings, on_remove: Callable[[str], None]) -> None:
        self._settings, self._on_remove = settings, on_remove
        self._uploads: dict[str, Upload] = {}  # the oldest first
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()
        settings.uploads.mkdir(parents=True, exist_ok=True)

    def complete(self) -> list[Upload]:
        """Those that are there, the oldest first."""
        with self._lock:
            return [upload for upload in self._uploads.values() if upload.complete]

    def touch(self, upload_id: str) -> None:
        """Somebody looks at it; ids of other videos are no uploads and change nothing."""
        with self._lock:
            if upload_id in self._uploads:
                self._uploads[upload_id].last_used = time.monotonic()

    @contextmanager
    def using(self, upload_id: str) -> Iterator[None]:
        """While the block lasts, it is not removed to make room for another."""
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
        """Stores a file under a name of our own; :meth:`accept` or :meth:`remove` must follow.

        Nothing is kept of one that is refused by an UploadError: too large, of another type, or no room for it.
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
                    raise UploadError("the upload stopped on its way; try again", 408) from error
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
        """It is a video: from now on it is offered."""
        with self._lock:
            self._uploads[upload_id].complete = True

    def remove(self, upload_id: str) -> None:
        """Frees its place."""
        with self._lock:
            self._remove(upload_id)

    def _remove(self, upload_id: str) -> None:
        upload = self._uploads.pop(upload_id, None)
        if upload is not None:
            self._on_remove(upload_id)
            with suppress(OSError):  # all of them go when the server ends
                upload.path.unlink(missing_ok=True)

    def _make_room(self, client: str, size: int = 0, files: int = 0) -> None:
        """Removes what may go until this much more fits, or refuses."""
        while problem := self._problem(client, size, files):
            own = [one for one in self._uploads.values() if self._may_go(one) and one.client == client]
            long_ago = time.monotonic() - self._settings.upload_keep_seconds
            old = [one for one in self._uploads.values() if self._may_go(one) and one.last_used < long_ago]
            if not own and not old:
                raise UploadError(problem, 507)
            self._remove((own or old)[0].id)

    def _may_go(self, upload: Upload) -> bool:
        return upload.complete and not self._in_use[upload.id]

    def _problem(self, client: str, size: int, files: int) -> str | None:
        settings = self._settings
        for mine in (True, False):
            some = [one for one in self._uploads.values() if one.client == client or not mine]
            share = settings.per_client if mine else int
            count, total = len(some) + files, sum(one.size for one in some) + size
            if count > share(settings.max_uploads) or total > share(settings.max_upload_total):
                whose = "your uploads" if mine else "all uploads together"
                return f"the server has no room for more: {whose} fill it, and they are in use"
        return None
