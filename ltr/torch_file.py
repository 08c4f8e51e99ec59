"""The two layouts of ``torch.save``: the zip archive (since torch 1.6) and the older stream of pickles.

Nothing is executed, and no size that a file states is believed before it has been compared with the file's own.
"""
from __future__ import annotations

import io
import os
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from ltr.files import replacing
from ltr.pickle_limits import Budget, DamagedFileError, UnsafeFileError
from ltr.restricted_pickle import RestrictedUnpickler

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
ONE_READ = 2**20  # bytes of an archive that are read at once; its directory must fit (10,000 tensors do)
PIECE = 2**16  # bytes of a record that are read at once: zipfile copies each of them several times


def read_torch_file(path: Path, *, tensors: bool = True) -> Any:
    """The object that ``torch.save`` wrote, with inert records in place of foreign objects.

    Without ``tensors`` their values are not read: they are on the device "meta". A DamagedFileError says that the file
    is truncated or no torch file, an UnsafeFileError that it names what no checkpoint needs, or asks for too much.
    """
    try:
        with _LimitedReader(open(path, "rb", buffering=0)) as file:
            size = os.fstat(file.fileno()).st_size
            is_archive = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            return _read_zip(file, size, tensors) if is_archive else _read_legacy(file, size, tensors)
    except (UnsafeFileError, DamagedFileError, OSError):
        raise
    except zipfile.BadZipFile as error:
        raise DamagedFileError(f"the archive is truncated or damaged ({error})") from error
    except Exception as error:  # a hostile or cut-off pickle can make the unpickler raise nearly anything
        reason = str(error)[:200]
        raise DamagedFileError(f"it cannot be read as a torch file ({type(error).__name__}: {reason})") from error


def write_torch_file(path: str | Path, content: Any) -> None:
    """``torch.save``, atomically; an OSError names ``path``."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # of torch's writer, which was told what the disk said and does not say it
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


class _LimitedReader(io.BufferedReader):
    """Refuses to read much at once, as only a directory of countless records or an endless text asks for."""

    def read(self, count: int | None = -1, /) -> bytes:
        if count is not None and count > ONE_READ:
            raise DamagedFileError(f"its directory, or a text in it, claims {count} bytes: more than any network's has")
        return super().read(count)


def _read_zip(file: BinaryIO, size: int, tensors: bool) -> Any:
    with zipfile.ZipFile(file) as archive:
        records = {info.filename.partition("/")[2]: info for info in archive.infolist()}
        if "constants.pkl" in records or any(name.startswith("code/") for name in records):
            raise UnsafeFileError("it is a TorchScript program, not a checkpoint; nothing was executed")
        if "data.pkl" not in records:
            raise DamagedFileError("the archive holds no data.pkl, so torch.save did not write it")
        claimed = sum(info.file_size for info in archive.infolist())
        if claimed > size:
            raise DamagedFileError(f"its content ({len(records)} records) claims {claimed} bytes in a file of {size}")
        if "byteorder" in records and _content(archive, records["byteorder"]).decode() != sys.byteorder:
            raise DamagedFileError("it was written on a machine with the other byte order")
        storages: dict[str, Tensor] = {}

        def load_storage(dtype: torch.dtype, key: str, numel: int, view: Any) -> Tensor:
            if key not in storages:
                if f"data/{key}" not in records:
                    raise DamagedFileError(f"the archive lacks the storage {key!r}")
                raw = _content(archive, records[f"data/{key}"])
                storages[key] = torch.frombuffer(raw, dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)
            return _typed(storages[key], dtype, numel, key)

        pickled = _content(archive, records["data.pkl"])
        reader = io.BytesIO(pickled)
        return RestrictedUnpickler(reader, len(pickled), Budget(size), load_storage if tensors else _no_values).load()


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    """A record, checked by its sum, in memory once."""
    content = bytearray(info.file_size)
    place = 0
    with archive.open(info) as record:
        while part := record.read(PIECE):
            content[place : place + len(part)] = part
            place += len(part)
    if place != info.file_size:
        raise DamagedFileError(f"record {info.filename!r} has {place} bytes instead of {info.file_size}")
    return content


def _read_legacy(file: BinaryIO, size: int, tensors: bool) -> Any:
    budget = Budget(size)

    def load(load_storage: Any = None) -> Any:
        return RestrictedUnpickler(file, size, budget, load_storage).load()

    if load() != LEGACY_MAGIC:
        raise DamagedFileError("torch.save did not write it")
    load()  # protocol version
    system = load()
    if isinstance(system, dict) and system.get("little_endian") is not (sys.byteorder == "little"):
        raise DamagedFileError("it was written on a machine with the other byte order")
    if not tensors:
        return load(_no_values)
    storages: dict[str, tuple[torch.dtype, Tensor]] = {}
    promised = 0

    def load_storage(dtype: torch.dtype, key: str, numel: int, view: Any) -> Tensor:
        nonlocal promised
        if key not in storages:
            promised += numel * dtype.itemsize
            if promised > size:
                raise DamagedFileError(f"its tensors claim {promised} bytes in a file of {size}: it is truncated")
            storages[key] = (dtype, torch.zeros(numel * dtype.itemsize, dtype=torch.uint8))
        whole = _typed(storages[key][1], dtype, numel, key)
        if view is None:
            return whole
        _, offset, length = view
        return whole[offset : offset + length]

    result = load(load_storage)
    for key in load():
        if not isinstance(key, (str, int)) or str(key) not in storages:
            raise DamagedFileError("it lists a storage that no tensor has")
        dtype, raw = storages[str(key)]
        header = file.read(8)
        if len(header) < 8 or struct.unpack("<q", header)[0] * dtype.itemsize != raw.numel():
            raise DamagedFileError(f"storage {key!r} is missing or has another length: the file is truncated")
        if raw.numel() and file.readinto(memoryview(raw.numpy())) != raw.numel():
            raise DamagedFileError(f"storage {key!r} ends early: the file is truncated")
    return result


def _no_values(dtype: torch.dtype, key: str, numel: int, view: Any) -> Tensor:
    return torch.empty(numel if view is None else view[2], dtype=dtype, device="meta")


def _typed(raw: Tensor, dtype: torch.dtype, numel: int, key: str) -> Tensor:
    if raw.numel() != numel * dtype.itemsize:
        raise DamagedFileError(f"storage {key!r} has {raw.numel()} bytes instead of {numel * dtype.itemsize}")
    return raw.view(dtype) if numel else torch.empty(0, dtype=dtype)
