"""Reads pickles of ``torch.save`` without executing their code and with limited memory and time.

A pickle is a program that may call any function it names. Here a name is either something this module rebuilds itself
(tensors, ordered dictionaries), a foreign class that becomes an inert record, or an error. A few bytes of pickle may
also demand unlimited memory and time: invented lengths and memo positions, copies of copies, keys that take forever to
hash. So this extends Python's pure-Python unpickler, restricted to the opcodes that checkpoints need and to a budget.
"""
from __future__ import annotations

import math
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import torch
from torch import Tensor

from ltr import pickle_limits as limits
from ltr.pickle_limits import Budget, CountedFile, DamagedFileError, UnsafeFileError, brief

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
# All except other ways to call (INST, OBJ, EXT), buffers of a stated length (BYTEARRAY8, NEXT_BUFFER) and text ids.
OPCODES = """
    PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT
    BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES
    BINBYTES8 EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS
    EMPTY_SET ADDITEMS FROZENSET GLOBAL STACK_GLOBAL REDUCE NEWOBJ NEWOBJ_EX BUILD PUT BINPUT LONG_BINPUT MEMOIZE GET
    BINGET LONG_BINGET BINPERSID
""".split()


class InertRecord:
    """Replaces an object of a foreign class: keeps its path, arguments and attributes, but no behaviour."""

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


class Storage:
    """A flat tensor that pickled tensors are views of."""

    __slots__ = ("data",)

    def __init__(self, data: Tensor) -> None:
        self.data = data


class _Call:
    """Wraps one of this module's functions for the pickle's stack, so that the pickle cannot set attributes on it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnsafeFileError(f"the file tries to change a function ({name}); nothing was executed")


class _Opcodes(dict):
    def __missing__(self, code: int) -> Any:
        raise UnsafeFileError(f"its pickle has the opcode {bytes([code])!r}, which no checkpoint needs")


class RestrictedUnpickler(pickle._Unpickler):
    """Rebuilds the objects that ``find_class`` knows; storages come from ``load_storage(dtype, key, numel, view)``.

    Args:
        budget: shared by all pickles of the file.
        load_storage: None if the pickle must not contain tensors.
    """

    def __init__(self, file: BinaryIO, size: int, budget: Budget, load_storage: Any = None) -> None:
        super().__init__(CountedFile(file, size, budget), encoding="utf-8")
        self._budget = budget
        self._load_storage = load_storage
        self._functions = {
            ("torch._utils", "_rebuild_tensor"): self._rebuild_tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self._rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self._rebuild_parameter,
            ("torch", "Size"): self._tuple,
            ("torch", "device"): self._device,
            ("_codecs", "encode"): self._encode,
            ("collections", "OrderedDict"): self._ordered,
        }
        for module in ("builtins", "__builtin__"):
            for name, function in (("set", self._set), ("frozenset", self._frozenset), ("bytearray", self._bytearray),
                                   ("complex", self._complex), ("slice", self._slice)):
                self._functions[module, name] = function

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._functions:
            return _Call(self._functions[module, name])
        if module in ("torch", "torch.storage") and name in STORAGE_DTYPES:
            return STORAGE_DTYPES[name]
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        package = module.split(".")[0]
        if package in FOREIGN_PACKAGES and name.isidentifier():
            self._budget.copy(limits.CLASS_BYTES)
            # A new class for each mention, so that changes to one of them affect nothing else.
            return type(name, (InertRecord,), {"path": f"{module}.{name}"})
        raise UnsafeFileError(
            f"the file asks for '{module}.{name}', which is neither a tensor nor a known record of a tracking network; "
            "nothing was executed"
        )

    def persistent_load(self, pid: Any) -> Storage:
        if self._load_storage is None or not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise UnsafeFileError(f"the file refers to something outside itself: {brief(pid)}; nothing was executed")
        _, dtype, key, _, numel, *view = pid
        if not isinstance(dtype, torch.dtype) or not isinstance(key, (str, int)) or not limits.is_count(numel):
            raise DamagedFileError(f"storage {brief(key)} has the type {brief(dtype)} and the length {brief(numel)}")
        return Storage(self._load_storage(dtype, str(key)[:80], numel, view[0] if view else None))

    # Opcodes with additional checks

    def load_empty_dict(self) -> None:
        self._append_container({})

    def load_empty_list(self) -> None:
        self._append_container([])

    def load_empty_set(self) -> None:
        self._append_container(set())

    def _append_container(self, empty: Any) -> None:
        self._budget.copy(limits.CONTAINER_BYTES)
        self.append(empty)

    def load_mark(self) -> None:
        if len(self.metastack) >= limits.MOST_MARKS:
            raise UnsafeFileError(f"its pickle is nested {limits.MOST_MARKS} deep, which no checkpoint needs")
        super().load_mark()

    def load_memoize(self) -> None:
        self._budget.copy(limits.MEMO_BYTES)
        super().load_memoize()

    def load_frame(self) -> None:
        self.read(8)  # a frame is only a hint how far to read ahead

    def load_build(self) -> None:
        state, instance = self.stack.pop(), self.stack[-1]
        if isinstance(instance, InertRecord):
            instance.__setstate__(state)
        elif not isinstance(instance, OrderedDict):  # a state dict's attributes (layer versions) are ignored
            raise UnsafeFileError(f"the file sets the state of a {type(instance).__name__}; nothing was executed")

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def load_setitems(self) -> None:
        self._set_items(self.pop_mark())

    def load_dict(self) -> None:
        items = self.pop_mark()
        self._append_container({})
        self._set_items(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise DamagedFileError(f"it adds entries to a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[limits.checked_key(key)] = value

    def load_additems(self) -> None:
        items, target = self.pop_mark(), self.stack[-1]
        if not isinstance(target, set):
            raise DamagedFileError(f"it adds members to a {type(target).__name__}")
        target.update(map(limits.checked_key, items))

    def load_frozenset(self) -> None:
        self.append(frozenset(map(limits.checked_key, self.pop_mark())))

    # Functions that the pickle may call

    def _rebuild_tensor(self, storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Tensor:
        numbers = [offset, *size, *stride]
        if not isinstance(storage, Storage) or not all(map(limits.is_count, numbers)):
            raise DamagedFileError("a tensor of the file has no storage or an invalid shape")
        count = math.prod(size)
        reach = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True)) + 1 if count else 0
        if count > storage.data.numel() or reach > storage.data.numel():
            raise DamagedFileError(f"a tensor of shape {brief(tuple(size))} reaches beyond its storage")
        self._budget.view(count * storage.data.itemsize)
        return storage.data.as_strided(size, stride, offset)

    @staticmethod
    def _rebuild_parameter(data: Any, *_: Any) -> Any:
        return data

    def _copied(self, values: Any = ()) -> Any:
        self._budget.copy(len(values))
        return values

    def _tuple(self, values: Iterable[Any]) -> tuple:
        return tuple(self._copied(values))

    def _set(self, values: Iterable[Any] = ()) -> set:
        return set(map(limits.checked_key, self._copied(values)))

    def _frozenset(self, values: Iterable[Any] = ()) -> frozenset:
        return frozenset(map(limits.checked_key, self._copied(values)))

    def _ordered(self, pairs: Iterable[Any] = ()) -> OrderedDict:
        return OrderedDict((limits.checked_key(key), value) for key, value in self._copied(pairs))

    def _encode(self, text: Any, encoding: Any = "latin1") -> bytes:
        if not isinstance(text, str) or encoding != "latin1":
            raise UnsafeFileError("the file asks for a codec other than latin1; nothing was executed")
        return self._copied(text).encode("latin1")

    def _bytearray(self, content: Any = b"", *encoding: Any) -> bytearray:
        if isinstance(content, str):
            content = self._encode(content, *encoding)
        if not isinstance(content, bytes):  # a number would be a length to allocate
            raise UnsafeFileError(f"the file asks for a bytearray of {brief(content)}")
        return bytearray(self._copied(content))

    @staticmethod
    def _complex(*parts: Any) -> complex:
        return complex(*map(limits.checked_number, parts))

    @staticmethod
    def _slice(*ends: Any) -> slice:
        return slice(*(None if end is None else limits.checked_number(end) for end in ends))

    @staticmethod
    def _device(*description: Any) -> str:
        return ":".join(str(part) for part in description if isinstance(part, (str, int)))


def _allowed_opcodes() -> _Opcodes:
    own = {name.removeprefix("load_").upper(): getattr(RestrictedUnpickler, name)
           for name in vars(RestrictedUnpickler) if name.startswith("load_")}
    codes = {name: getattr(pickle, name)[0] for name in OPCODES}
    return _Opcodes({code: own.get(name) or pickle._Unpickler.dispatch[code] for name, code in codes.items()})


RestrictedUnpickler.dispatch = _allowed_opcodes()
