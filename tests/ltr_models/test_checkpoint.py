"""Checkpoints: damaged, foreign and hostile files."""
import builtins
import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.checkpoint import CheckpointError, read_checkpoint
from ltr.torch_file import LEGACY_MAGIC


def write_zip(path, payload: bytes, extra: dict[str, bytes] | None = None) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", payload)
        for name, content in (extra or {}).items():
            archive.writestr(f"archive/{name}", content)


def write_legacy(path, payload: bytes) -> None:
    head = b"".join(pickle.dumps(x, 2) for x in (LEGACY_MAGIC, 1001, {"little_endian": True}))
    path.write_bytes(head + payload + pickle.dumps([], 2))


# ---------------------------------------------------------------------------------------------- hostile files


class Calls:
    """Pickles as a call of ``function(*arguments)``."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def global_opcode(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def text_opcode(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def attacks(marker: str) -> dict[str, bytes]:
    """Pickles that would create the file ``marker`` if anything in them were executed."""
    touch = f"touch {marker}"
    python = f"open({marker!r}, 'w').close()"
    posix_system = global_opcode("posix", "system")
    stack_global = b"\x8c\x05posix\x8c\x06system\x93"
    return {
        "os.system": pickle.dumps(Calls(os.system, touch), 2),
        "eval": pickle.dumps(Calls(eval, python), 2),
        "exec": pickle.dumps(Calls(exec, python), 2),
        "open": pickle.dumps(Calls(open, marker, "w"), 2),
        "__import__": pickle.dumps(Calls(builtins.__import__, "antigravity"), 2),
        "subprocess": pickle.dumps(Calls(__import__("subprocess").check_call, ["touch", marker]), 2),
        "getattr": global_opcode("builtins", "getattr") + b"(" + posix_system + text_opcode("__self__") + b"tR.",
        "nested pickle": pickle.dumps(Calls(pickle.loads, pickle.dumps(Calls(os.system, touch))), 2),
        "torch.load from bytes": global_opcode("torch.storage", "_load_from_bytes") + b"(U\x01xtR.",
        "torch.hub": global_opcode("torch.hub", "load") + b"(" + text_opcode(marker) + b"tR.",
        "runpy": global_opcode("runpy", "run_path") + b"(" + text_opcode(marker) + b"tR.",
        "INST opcode": b"(" + text_opcode(touch) + b"iposix\nsystem\n.",
        "OBJ opcode": b"(" + posix_system + text_opcode(touch) + b"o.",
        "NEWOBJ opcode": posix_system + b"(" + text_opcode(touch) + b"t\x81.",
        "NEWOBJ_EX opcode": b"\x80\x04" + posix_system + b"(" + text_opcode(touch) + b"t}\x92.",
        "STACK_GLOBAL opcode": b"\x80\x04" + stack_global + b"(" + text_opcode(touch) + b"tR.",
        "dotted name in ltr": b"\x80\x04\x8c\x0eltr.checkpoint\x8c\x09os.system\x93(" + text_opcode(touch) + b"tR.",
        "extension registry": b"\x80\x02\x82\x01.",
        "persistent id": b"(" + text_opcode("module") + text_opcode("os") + text_opcode(touch) + b"tQ.",
        "persistent text id": b"Pposix.system\n.",
        "copyreg": global_opcode("copyreg", "_reconstructor") + b"(" + posix_system + b"tR.",
        "functools.partial": global_opcode("functools", "partial") + b"(" + posix_system + text_opcode(touch) + b"tR.",
        "state on a type": global_opcode("collections", "OrderedDict") + b"}" + text_opcode("__init__") + b"Nsb.",
        "codec": global_opcode("_codecs", "encode") + b"(" + text_opcode("x") + text_opcode("zlib") + b"tR.",
    }


@pytest.mark.parametrize("layout", ["zip", "legacy"])
@pytest.mark.parametrize("attack", list(attacks("x")))
def test_hostile_pickles_execute_nothing(tmp_path, attack, layout):
    marker = tmp_path / "executed"
    path = tmp_path / "evil.pth"
    (write_zip if layout == "zip" else write_legacy)(path, attacks(str(marker))[attack])
    with pytest.raises(CheckpointError, match="evil.pth"):
        read_checkpoint(path)
    assert not marker.exists()


@pytest.mark.parametrize("attack", ["os.system", "eval", "STACK_GLOBAL opcode"])
def test_attack_hidden_beside_a_real_network(tmp_path, attack):
    """A call nested in metadata is refused too, and by name."""
    marker = tmp_path / "executed"
    hidden = attacks(str(marker))[attack].lstrip(b"\x80\x02\x04").removesuffix(b".")
    payload = b"\x80\x04}" + text_opcode("net") + b"}s" + text_opcode("stats") + hidden + b"s."
    write_zip(tmp_path / "evil.pth", payload)
    with pytest.raises(CheckpointError, match=r"system|eval"):
        read_checkpoint(tmp_path / "evil.pth")
    assert not marker.exists()


def test_the_attacks_are_real(tmp_path):
    """The same bytes do run under the ordinary unpickler, so the tests above can fail."""
    marker = tmp_path / "executed"
    pickle.loads(attacks(str(marker))["STACK_GLOBAL opcode"])
    assert marker.exists()


def test_foreign_classes_become_inert_records(tmp_path):
    payload = global_opcode("numpy.testing._private.utils", "runstring") + b"(" + text_opcode("1/0") + b"}tR"
    whole = b"\x80\x02}" + text_opcode("net") + b"}s" + text_opcode("stats") + payload + b"s."
    write_zip(tmp_path / "x.pth", whole)
    assert read_checkpoint(tmp_path / "x.pth").metadata["stats"] == {}


def test_records_of_one_file_cannot_change_those_of_another(tmp_path):
    """State put on a record's class (not on the record) stays with that mention."""
    poisoned = global_opcode("ltr.admin.stats", "StatValue") + b"(}" + text_opcode("__repr__") + b"Nstb"
    payload = b"\x80\x02}" + text_opcode("net") + b"}s" + text_opcode("stats") + poisoned + b"s."
    write_zip(tmp_path / "x.pth", payload)
    try:
        read_checkpoint(tmp_path / "x.pth")
    except CheckpointError:
        pass
    from ltr.restricted_pickle import InertRecord

    assert repr(InertRecord()).startswith("<")


def tensor_pickle(size: str, stride: str, offset: int = 0, numel: int = 4) -> bytes:
    storage = (
        b"(" + text_opcode("storage") + global_opcode("torch", "FloatStorage") + text_opcode("0") + text_opcode("cpu")
        + f"I{numel}\n".encode() + b"tQ"
    )
    arguments = b"(" + storage + f"I{offset}\n".encode() + size.encode() + stride.encode() + b"I00\nNt"
    tensor = global_opcode("torch._utils", "_rebuild_tensor_v2") + arguments + b"R"
    return b"\x80\x02}" + text_opcode("net") + b"}" + text_opcode("w") + tensor + b"ss."


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (tensor_pickle("(I9\nt", "(I1\nt"), "beyond its storage"),
        (tensor_pickle("(I2\nt", "(I4\nt"), "beyond its storage"),
        (tensor_pickle("(I2\nt", "(I1\nt", offset=3), "beyond its storage"),
        (tensor_pickle("(I1000000000\nt", "(I0\nt"), "beyond its storage"),
        (tensor_pickle("(I-2\nt", "(I1\nt"), "an invalid shape"),
        (tensor_pickle("(I4\nt", "(I1\nt", numel=1 << 40), "bytes instead of"),
    ],
    ids=["too long", "stride", "offset", "expanded", "negative", "huge storage"],
)
def test_tensors_stay_within_their_storage(tmp_path, payload, message):
    write_zip(tmp_path / "x.pth", payload, {"data/0": b"\0" * 16})
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(tmp_path / "x.pth")


def test_a_good_tensor_is_read(tmp_path):
    write_zip(tmp_path / "x.pth", tensor_pickle("(I2\nI2\nt", "(I2\nI1\nt"), {"data/0": struct.pack("<4f", 1, 2, 3, 4)})
    assert read_checkpoint(tmp_path / "x.pth").net["w"].tolist() == [[1, 2], [3, 4]]


def test_metadata_that_explodes_or_contains_itself_is_refused(tmp_path):
    laughs = b"]" + b"".join(b"q" + bytes([i]) + b"](" + (b"h" + bytes([i])) * 10 + b"e" for i in range(20))
    for stats in (laughs, b"]q\x00h\x00a"):
        write_zip(tmp_path / "x.pth", b"\x80\x02}" + text_opcode("net") + b"}s" + text_opcode("stats") + stats + b"s.")
        with pytest.raises(CheckpointError, match="metadata"):
            read_checkpoint(tmp_path / "x.pth")


def test_zip_bomb_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pth", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 10_000_000)
    with pytest.raises(CheckpointError, match="claims"):
        read_checkpoint(tmp_path / "x.pth")


def test_torchscript_is_refused(tmp_path):
    write_zip(tmp_path / "x.pth", b"\x80\x02}.", {"constants.pkl": b"", "code/__torch__.py": b""})
    with pytest.raises(CheckpointError, match="TorchScript"):
        read_checkpoint(tmp_path / "x.pth")


# ---------------------------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html><head><title>Google Drive - Virus scan warning", "web page"),
        (b"  \n<html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "LFS"),
        (os.urandom(4096), "Download or copy the file again|refused"),
        (pickle.dumps({"net": {}}), "torch.save did not write it"),
        (pickle.dumps([1, 2]), "torch.save did not write it"),
    ],
    ids=["empty", "html", "html with blanks", "git-lfs", "noise", "plain pickle", "plain list"],
)
def test_files_that_are_no_checkpoints(tmp_path, content, message):
    (tmp_path / "dimp50.pth").write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as caught:
        read_checkpoint(tmp_path / "dimp50.pth")
    assert "dimp50.pth" in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(CheckpointError, match="no such file"):
        read_checkpoint(tmp_path / "nothing.pth")


@pytest.fixture(scope="module", params=[True, False], ids=["zip", "legacy"])
def whole_file(request):
    buffer = io.BytesIO()
    content = {"net": OrderedDict(a=torch.randn(40), b=torch.arange(5)), "epoch": 3}
    torch.save(content, buffer, _use_new_zipfile_serialization=request.param)
    return buffer.getvalue()


@settings(max_examples=30, deadline=None)
@given(fraction=st.floats(0.001, 0.999))
def test_truncated_anywhere(tmp_path_factory, whole_file, fraction):
    path = tmp_path_factory.mktemp("cut") / "cut.pth"
    path.write_bytes(whole_file[: max(int(len(whole_file) * fraction), 1)])
    with pytest.raises(CheckpointError, match="cut.pth"):
        read_checkpoint(path)


@settings(max_examples=60, deadline=None)
@given(position=st.floats(0, 0.999), value=st.integers(0, 255))
def test_a_changed_byte_never_escapes(tmp_path_factory, whole_file, position, value):
    """Either the file still reads as tensors, or there is a CheckpointError: no other exception, no hang."""
    damaged = bytearray(whole_file)
    damaged[int(len(damaged) * position)] = value
    path = tmp_path_factory.mktemp("flip") / "flip.pth"
    path.write_bytes(damaged)
    try:
        assert all(isinstance(tensor, torch.Tensor) for tensor in read_checkpoint(path).net.values())
    except CheckpointError as error:
        assert "flip.pth" in str(error)
