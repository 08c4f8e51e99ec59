"""Frames of a run on disk: whatever was tracked can be looked at again, and memory does not grow with the video."""
from __future__ import annotations

import bisect
import threading
from array import array
from pathlib import Path


class FrameArchive:
    """One file that frames are appended to, within a quota.

    When the quota is reached every second frame is dropped, and only every second of those to come is kept; so a video
    of any length stays viewable from end to end, more coarsely the longer it is. The quota is in bytes.
    """

    def __init__(self, path: Path, quota: int) -> None:
        self._path, self.quota = Path(path), quota
        self._lock = threading.Lock()
        self._file = open(self._path, "w+b", buffering=0)
        self._indices, self._offsets, self._lengths = array("I"), array("Q"), array("I")
        self._end = 0
        self.stride = 1

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._end

    def __len__(self) -> int:
        return len(self._indices)

    def put(self, index: int, data: bytes, always: bool = False) -> None:
        """Keeps a frame, unless it is one of those that are left out and not ``always`` wanted; indices must grow."""
        with self._lock:
            if self._file.closed or (index % self.stride and not always):
                return
            while self._end + len(data) > self.quota and len(self._indices) > 1:
                self._thin()
            if index % self.stride and not always:
                return
            self._write(data)
            self._append(index, self._end, len(data))

    def get(self, index: int) -> tuple[int, bytes]:
        """The frame, or the nearest before it that was kept, with its index; KeyError if there is none."""
        with self._lock:
            place = max(0, bisect.bisect_right(self._indices, index) - 1)
            if self._file.closed or place >= len(self._indices):
                raise KeyError(index)
            self._file.seek(self._offsets[place])
            return self._indices[place], self._file.read(self._lengths[place])

    def cut(self, index: int) -> None:
        """Forgets the frames from ``index`` on."""
        with self._lock:
            place = bisect.bisect_left(self._indices, index)
            if place < len(self._indices):
                self._end = self._offsets[place]
                for column in (self._indices, self._offsets, self._lengths):
                    del column[place:]

    def remove(self) -> None:
        """Frees the disk."""
        with self._lock:
            self._file.close()
            self._path.unlink(missing_ok=True)
            self._end = 0

    def _write(self, data: bytes) -> None:
        self._file.seek(self._end)
        left = memoryview(data)
        while left:  # a disk that is nearly full takes a part
            left = left[self._file.write(left) :]

    def _append(self, index: int, offset: int, length: int) -> None:
        self._indices.append(index)
        self._offsets.append(offset)
        self._lengths.append(length)
        self._end = offset + length

    def _thin(self) -> None:
        """Moves every second frame towards the file's start; what moves never passes what is still to be read."""
        self.stride *= 2
        kept = list(zip(self._indices[::2], self._offsets[::2], self._lengths[::2], strict=True))
        self._indices, self._offsets, self._lengths, self._end = array("I"), array("Q"), array("I"), 0
        for index, offset, length in kept:
            self._file.seek(offset)
            data = self._file.read(length)
            self._write(data)
            self._append(index, self._end, length)
        self._file.truncate(self._end)
