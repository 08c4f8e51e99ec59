"""Reads and writes files of ``torch.save``: zip archives (since torch 1.6) and the older stream of pickles.

Reading executes nothing and checks every size stated in a file against the size of the file.
"""
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
MOST_READ = 2**20  # bytes of an archive per read; its directory must fit (that of 10,000 tensors does)
PIECE = 2**16  # bytes of a record per read; small, because zipfile copies each piece several times


def read_torch_file(path: Path, *, tensors: bool = True) -> Any:
    """Reads the object that ``torch.save`` wrote, with inert records instead of foreign objects.

    With ``tensors=False``, tensors are returned without values on the device "meta".

    Raises:
        DamagedFileError: the file is truncated or not a torch file.
        UnsafeFileError: the file calls functions or asks for resources that no checkpoint needs.
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
    except Exception as error:  # a hostile or truncated pickle can make the unpickler raise almost anything
        reason = str(error)[:200]
        raise DamagedFileError(f"it cannot be read as a torch file ({type(error).__name__}: {reason})") from error


def write_torch_file(path: str | Path, content: Any) -> None:
    """``torch.save``, atomically; an OSError names ``path``."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # torch's writer hides the OSError in the context
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


class _LimitedReader(io.BufferedReader):
    """Refuses large reads, which only an oversized archive directory or text would need."""

    def read(self, count: int | None = -1, /) -> bytes:
        if count is not None and count > MOST_READ:
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
    """Reads a record, verifying its checksum, without a second copy in memory."""
    content = bytearray(info.file_size)
    done = 0
    with archive.open(info) as record:
        while part := record.read(PIECE):
            content[done : done + len(part)] = part
            done += len(part)
    if done != info.file_size:
        raise DamagedFileError(f"record {info.filename!r} has {done} bytes instead of {info.file_size}")
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
    claimed = 0

    def load_storage(dtype: torch.dtype, key: str, numel: int, view: Any) -> Tensor:
        nonlocal claimed
        if key not in storages:
            claimed += numel * dtype.itemsize
            if claimed > size:
                raise DamagedFileError(f"its tensors claim {claimed} bytes in a file of {size}: it is truncated")
            storages[key] = (dtype, torch.zeros(numel * dtype.itemsize, dtype=torch.uint8))
        whole = _typed(storages[key][1], dtype, numel, key)
        if view is None:
            return whole
        _, offset, length = view
        return whole[offset : offset + length]

    result = load(load_storage)
    for key in load():
        if not isinstance(key, (str, int)) or str(key) not in storages:
            raise DamagedFileError("it lists a storage that no tensor uses")
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
