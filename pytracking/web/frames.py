"""Keeps a run's frames on disk, so that they can be viewed again and memory does not grow with the video."""
import bisect
import threading
from array import array
from pathlib import Path


class FrameArchive:
    """A file to which frames are appended, within a quota in bytes.

    When the quota is reached, every second frame is dropped, and of later frames only every second one is kept. A video
    of any length thus stays viewable from end to end, the more coarsely the longer it is.
    """

    def __init__(self, path: Path, quota: int) -> None:
        self._path, self.quota = Path(path), quota
        self._lock = threading.Lock()
        self._file = open(self._path, "w+b", buffering=0)
        self._indices, self._offsets, self._lengths = array("I"), array("Q"), array("I")
        self.size = 0  # bytes on disk
        self.stride = 1

    def __len__(self) -> int:
        return len(self._indices)

    def put(self, index: int, data: bytes, always: bool = False) -> None:
        """Appends a frame unless the stride skips it; ``always`` overrides the stride. Indices must increase."""
        with self._lock:
            if self._file.closed or (index % self.stride and not always):
                return
            while self.size + len(data) > self.quota and len(self._indices) > 1:
                self._thin()
            if index % self.stride and not always:
                return
            self._write(data)
            self._append(index, self.size, len(data))

    def get(self, index: int) -> tuple[int, bytes]:
        """Returns the nearest kept frame at or before ``index``, and its index; KeyError if the archive is empty."""
        with self._lock:
            place = max(0, bisect.bisect_right(self._indices, index) - 1)
            if self._file.closed or place >= len(self._indices):
                raise KeyError(index)
            self._file.seek(self._offsets[place])
            return self._indices[place], self._file.read(self._lengths[place])

    def cut(self, index: int) -> None:
        """Drops all frames from ``index`` on."""
        with self._lock:
            place = bisect.bisect_left(self._indices, index)
            if place < len(self._indices):
                self.size = self._offsets[place]
                for column in (self._indices, self._offsets, self._lengths):
                    del column[place:]

    def remove(self) -> None:
        """Deletes the file."""
        with self._lock:
            self._file.close()
            self._path.unlink(missing_ok=True)
            self.size = 0

    def _write(self, data: bytes) -> None:
        self._file.seek(self.size)
        unwritten = memoryview(data)
        while unwritten:  # on a nearly full disk a write may be partial
            unwritten = unwritten[self._file.write(unwritten) :]

    def _append(self, index: int, offset: int, length: int) -> None:
        self._indices.append(index)
        self._offsets.append(offset)
        self._lengths.append(length)
        self.size = offset + length

    def _thin(self) -> None:
        """Keeps every second frame and moves it towards the file's start; never overwrites frames still to be read."""
        self.stride *= 2
        kept = list(zip(self._indices[::2], self._offsets[::2], self._lengths[::2], strict=True))
        self._indices, self._offsets, self._lengths, self.size = array("I"), array("Q"), array("I"), 0
        for index, offset, length in kept:
            self._file.seek(offset)
            data = self._file.read(length)
            self._write(data)
            self._append(index, self.size, length)
        self._file.truncate(self.size)
