"""Small files that ask for much: memory, or time."""
from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile

from ltr.torch_file import LEGACY_MAGIC

MUCH = 300_000_000
FLOATS = 250_000


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def archive(payload: bytes, records: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED) -> bytes:
    """The zip layout of torch.save around a pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        file.writestr("archive/data.pkl", payload)
        for name, content in (records or {}).items():
            file.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def legacy(payload: bytes) -> bytes:
    """The old layout around a pickle."""
    return b"".join(pickle.dumps(x, 2) for x in (LEGACY_MAGIC, 1001, {"little_endian": True})) + payload


def checkpoint(stats: bytes, net: bytes = b"}") -> bytes:
    """A pickled pytracking checkpoint with these values."""
    return b"\x80\x02}" + text("net") + net + b"s" + text("stats") + stats + b"s."


def doubling(kind: bytes, levels: int) -> bytes:
    """((x, x), (x, x)) and so on: a few bytes per level, twice the size each."""
    return b"K\x01" + b"".join(b"q%ch%c" % (i, i) + kind for i in range(levels))


def tensor(key: str, numel: int, size: tuple[int, ...], storage: str = "HalfStorage") -> bytes:
    """A pickled tensor on a storage."""
    pid = b"(" + text("storage") + named("torch", storage) + text(key) + text("cpu") + f"I{numel}\n".encode() + b"tQ"
    sides = b"(" + b"".join(f"I{side}\n".encode() for side in size) + b"t"
    steps = b"(" + b"I1\n" * len(size) + b"t"
    return named("torch._utils", "_rebuild_tensor_v2") + b"(" + pid + b"I0\n" + sides + steps + b"I00\nNtR"


def own_format(net: bytes, constructor: bytes = b"}") -> bytes:
    """A pickled checkpoint in this project's own format."""
    entries = {"format": text("rls-tracking checkpoint"), "net": net, "constructor": constructor, "metadata": b"}"}
    return b"\x80\x02}(" + b"".join(text(key) + value for key, value in entries.items()) + b"u."


def _overlapping(count: int, length: int) -> bytes:
    """An archive whose directory names one record ``count`` times."""
    whole = archive(own_format(b"}" + b"".join(text(f"w{i}") + tensor(str(i), length, (length,)) + b"s"
                                               for i in range(count))), {"data/0": bytes(2 * length)})
    end = whole.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", whole[end + 16 : end + 20])[0]
    directory = whole[start:end]
    record = directory[directory.rindex(b"PK\x01\x02") :]
    for i in range(1, count):
        name = f"archive/data/{i}".encode()
        directory += record[:28] + struct.pack("<H", len(name)) + record[30:46] + name
    entries = struct.pack("<HHII", count + 1, count + 1, len(directory), start)
    return whole[:start] + directory + b"PK\x05\x06\0\0\0\0" + entries + b"\0\0"


def _network(**kwargs: int) -> bytes:
    arguments = b"}" + b"".join(text(name) + f"L{value}L\n".encode() + b"s" for name, value in kwargs.items())
    function = text("ltr.models.tracking.dimpnet.dimpnet_mobile")
    constructor = b"}(" + text("function") + function + text("kwargs") + arguments + b"u"
    return archive(own_format(b"}" + text("w") + tensor("0", 4, (4,)) + b"s", constructor), {"data/0": bytes(8)})


def files() -> dict[str, bytes]:
    """Contents by name of the attack."""
    large_text = text("a" * 1_000_000) + b"q\x000"
    encode = named("_codecs", "encode") + b"q\x010"
    copies = b"](" + b"h\x01h\x00\x85R" * 2000 + b"e"
    list_memo = b"](" + b"K\x01" * 100_000 + b"eq\x000"
    tuple_copies = b"](" + (named("torch", "Size") + b"h\x00\x85R") * 3000 + b"e"
    set_copies = b"](" + (named("builtins", "set") + b"h\x00\x85R") * 3000 + b"e"
    same_storage = b"}" + b"".join(text(f"w{i}") + tensor("0", FLOATS, (FLOATS,)) + b"s" for i in range(600))
    return {
        "bytearray of a number": legacy(checkpoint(named("builtins", "bytearray") + f"(I{MUCH}\ntR".encode())),
        "bytearray8 opcode": archive(checkpoint(b"\x96" + struct.pack("<Q", MUCH * 20))),
        "memo index": archive(b"\x80\x02}r" + struct.pack("<I", 60_000_000) + b"."),
        "memo index in text": archive(b"\x80\x02}p60000000\n."),
        "memo index, legacy": legacy(b"\x80\x02}r" + struct.pack("<I", 60_000_000) + b"."),
        "length of a string": legacy(b"\x80\x02X" + struct.pack("<I", 4_000_000_000)),
        "length of bytes": legacy(b"\x80\x04\x8e" + struct.pack("<Q", 8_000_000_000)),
        "length of a frame": legacy(b"\x80\x04\x95" + struct.pack("<Q", 8_000_000_000)),
        "copies of a text": archive(checkpoint(large_text + encode + copies)),
        "copies of a list": archive(checkpoint(list_memo + tuple_copies)),
        "sets of a list": archive(checkpoint(list_memo + set_copies)),
        "empty dictionaries": archive(checkpoint(b"](" + b"}" * 3_000_000 + b"e")),
        "empty lists": archive(checkpoint(b"](" + b"]" * 3_000_000 + b"e")),
        "empty sets": archive(checkpoint(b"](" + b"\x8f" * 3_000_000 + b"e")),
        "dictionaries of nothing": archive(checkpoint(b"](" + b"(d" * 1_500_000 + b"e")),
        "marks": archive(checkpoint(b"(" * 3_000_000)),
        "memo entries": archive(checkpoint(b"N" + b"\x94" * 3_000_000)),
        "doubling key": archive(checkpoint(b"}" + doubling(b"\x86", 40) + b"Ns")),
        "doubling key of a set": archive(checkpoint(b"\x8f(" + doubling(b"\x86", 40) + b"\x90")),
        "doubling storage name": archive(
            checkpoint(b"N", b"}" + text("w") + b"(" + text("storage") + named("torch", "FloatStorage")
                       + doubling(b"\x86", 40) + text("cpu") + b"I1\ntQs")
        ),
        "doubling persistent id": archive(checkpoint(b"(" + text("x") + doubling(b"\x86", 40) + b"tQ")),
        "doubling device": archive(checkpoint(named("torch", "device") + doubling(b"\x86", 40) + b"\x85R")),
        "many views of a storage": archive(own_format(same_storage), {"data/0": bytes(2 * FLOATS)}),
        "deflated records": archive(
            own_format(b"}" + b"".join(text(f"w{i}") + tensor(str(i), FLOATS, (FLOATS,)) + b"s" for i in range(600))),
            {f"data/{i}": bytes(2 * FLOATS) for i in range(600)} | {"rest": random.Random(0).randbytes(300_000)},
            zipfile.ZIP_DEFLATED,
        ),
        "deflated pickle": archive(own_format(b"}") + bytes(96 * 2**20), compression=zipfile.ZIP_DEFLATED),
        "one record under many names": _overlapping(600, FLOATS),
        "wide network": _network(out_feature_dim=200_000),
        "absurdly wide network": _network(out_feature_dim=10**30),
        "many bins": _network(num_dist_bins=10**9),
    }
