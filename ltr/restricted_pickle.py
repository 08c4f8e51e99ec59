"""Reads files written by ``torch.save`` without executing anything that is pickled in them.

A pickle is a program that may call any function it names. Here a name means one of three things: something this
module rebuilds itself (tensors, ordered dictionaries), a foreign class that becomes an inert record, or an error that
names it. Both layouts of ``torch.save`` are read: the zip archive (since torch 1.6) and the older stream of pickles.
"""
from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
FOREIGN_PACKAGES = ("ltr", "dlframework", "pytracking", "numpy", "pathlib", "easydict", "argparse")
STORAGE_DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
PLAIN_TYPES = {"set": set, "frozenset": frozenset, "complex": complex, "slice": slice, "bytearray": bytearray}


class UnsafeFileError(pickle.UnpicklingError):
    """The pickle names something that will not be called."""


class DamagedFileError(ValueError):
    """The file is not a complete ``torch.save`` file."""


class InertRecord:
    """Stands where an object of a foreign class stood: its path, arguments and attributes, and no behaviour."""

    path = ""

    def __new__(cls, *arguments: Any, **_: Any) -> InertRecord:
        record = super().__new__(cls)
        record.__dict__.update(arguments=arguments, attributes={})
        return record

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.__dict__["attributes"] = state if isinstance(state, dict) else {"state": state}

    def __repr__(self) -> str:
        return f"<{self.path} {list(self.attributes)}>"


class _Storage:
    """A flat tensor that pickled tensors are views of."""

    __slots__ = ("data",)

    def __init__(self, data: Tensor) -> None:
        self.data = data


class _RestrictedUnpickler(pickle.Unpickler):
    """Rebuilds what ``find_class`` knows; storages come from ``load_storage(dtype, key, numel, view)``."""

    def __init__(self, file: BinaryIO, load_storage: Any = None) -> None:
        super().__init__(file, encoding="utf-8")
        self._load_storage = load_storage
        self._tensor_functions = {
            ("torch._utils", "_rebuild_tensor"): self._rebuild_tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self._rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self._rebuild_parameter,
            ("torch", "Size"): self._as_tuple,
            ("torch", "device"): str,
            ("_codecs", "encode"): self._encode,
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._tensor_functions:
            return self._tensor_functions[module, name]
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module in ("torch", "torch.storage") and name in STORAGE_DTYPES:
            return STORAGE_DTYPES[name]
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if module in ("builtins", "__builtin__") and name in PLAIN_TYPES:
            return PLAIN_TYPES[name]
        package = module.split(".")[0]
        if package in FOREIGN_PACKAGES and name.isidentifier():
            # A class of its own for each mention: what a pickle does to one of them reaches nothing else.
            return type(name, (InertRecord,), {"path": f"{module}.{name}"})
        raise UnsafeFileError(
            f"the file asks for '{module}.{name}', which is neither a tensor nor a known record of a tracking network; "
            "nothing was executed"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        if self._load_storage is None or not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise UnsafeFileError(f"the file refers to something outside itself: {str(pid)[:80]}; nothing was executed")
        _, dtype, key, _, numel, *view = pid
        if not isinstance(dtype, torch.dtype) or not isinstance(numel, int) or numel < 0:
            raise DamagedFileError(f"storage {key!r} has the type {dtype!r} and the length {numel!r}")
        return _Storage(self._load_storage(dtype, str(key), numel, view[0] if view else None))

    @staticmethod
    def _rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Tensor:
        numbers = [offset, *size, *stride]
        if not isinstance(storage, _Storage) or not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise DamagedFileError("a tensor of the file has no storage, or a shape that is not made of counts")
        count = 1
        for length in size:
            count *= length
        reach = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True)) + 1 if count else 0
        if count > storage.data.numel() or reach > storage.data.numel():
            raise DamagedFileError(f"a tensor of shape {tuple(size)} reaches beyond its storage")
        return storage.data.as_strided(size, stride, offset)

    @staticmethod
    def _rebuild_parameter(data: Any, *_: Any) -> Any:
        return data

    @staticmethod
    def _as_tuple(values: Any) -> tuple:
        return tuple(values)

    @staticmethod
    def _encode(text: Any, encoding: Any = "latin1") -> bytes:
        if not isinstance(text, str) or encoding != "latin1":
            raise UnsafeFileError("the file asks for a codec other than latin1; nothing was executed")
        return text.encode("latin1")


def read_torch_file(path: Path, *, tensors: bool = True) -> Any:
    """The object that ``torch.save`` wrote, with inert records in place of foreign objects.

    Without ``tensors`` their values are not read: they are on the device "meta".

    Raises:
        DamagedFileError: the file is truncated or was never written by ``torch.save``.
        UnsafeFileError: it names a function or class that has no business in a checkpoint.
    """
    try:
        with open(path, "rb") as file:
            if file.read(4) == b"PK\x03\x04":
                return _read_zip(path, tensors)
            file.seek(0)
            return _read_legacy(file, os.path.getsize(path), tensors)
    except (UnsafeFileError, DamagedFileError, OSError):
        raise
    except zipfile.BadZipFile as error:
        raise DamagedFileError(f"the archive is truncated or damaged ({error})") from error
    except Exception as error:  # a hostile or cut-off pickle can make the unpickler raise nearly anything
        raise DamagedFileError(f"it cannot be read as a torch file ({type(error).__name__}: {error})") from error


def _read_zip(path: Path, tensors: bool) -> Any:
    with zipfile.ZipFile(path) as archive:
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        if "constants.pkl" in names or any(name.startswith("code/") for name in names):
            raise UnsafeFileError("it is a TorchScript program, not a checkpoint; nothing was executed")
        if "data.pkl" not in names:
            raise DamagedFileError("the archive holds no data.pkl, so torch.save did not write it")
        size = os.path.getsize(path)
        for info in archive.infolist():
            if info.file_size > size:
                raise DamagedFileError(f"record {info.filename!r} claims {info.file_size} bytes in a file of {size}")
        if "byteorder" in names and archive.read(names["byteorder"]).decode() != sys.byteorder:
            raise DamagedFileError("it was written on a machine with the other byte order")
        storages: dict[str, Tensor] = {}

        def load_storage(dtype: torch.dtype, key: str, numel: int, view: Any) -> Tensor:
            if key not in storages:
                if f"data/{key}" not in names:
                    raise DamagedFileError(f"the archive lacks the storage {key!r}")
                raw = bytearray(archive.read(names[f"data/{key}"]))
                storages[key] = torch.frombuffer(raw, dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)
            return _typed(storages[key], dtype, numel, key)

        pickled = io.BytesIO(archive.read(names["data.pkl"]))
        return _RestrictedUnpickler(pickled, load_storage if tensors else _no_values).load()


def _read_legacy(file: BinaryIO, size: int, tensors: bool) -> Any:
    if _RestrictedUnpickler(file).load() != LEGACY_MAGIC:
        raise DamagedFileError("torch.save did not write it")
    _RestrictedUnpickler(file).load()  # protocol version
    system = _RestrictedUnpickler(file).load()
    if isinstance(system, dict) and system.get("little_endian") is not (sys.byteorder == "little"):
        raise DamagedFileError("it was written on a machine with the other byte order")
    if not tensors:
        return _RestrictedUnpickler(file, _no_values).load()
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

    result = _RestrictedUnpickler(file, load_storage).load()
    for key in _RestrictedUnpickler(file).load():
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
