"""Videos of strangers: decoded exactly, or refused with a sentence, by a process that can do nothing else."""
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from pytracking.video import limited_source
from pytracking.video.limited_source import DecoderLimits, LimitedSource, PictureDecoder
from pytracking.video.sources import VideoError, open_source

ROOT = Path(limited_source.__file__).parents[2]


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "clip.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 25.0, (128, 96))
    for index in range(30):
        frame = np.full((96, 128, 3), 50, np.uint8)
        frame[15:39, 20 + index : 50 + index] = (30, 180, 220)
        writer.write(frame)
    writer.release()
    return path


def test_frames_are_those_that_opencv_gives_here_and_can_be_gone_back_to(video):
    with open_source(str(video)) as source:
        expected = list(source)
    with LimitedSource(video, DecoderLimits()) as source:
        assert (source.length, source.fps) == (30, 25.0)
        found = list(source)
        assert len(found) == 30 and all(map(np.array_equal, found, expected))
        for start in (20, 3, 29):
            assert np.array_equal(next(source.frames(start)), expected[start])
        assert next(source.frames(40), None) is None


@pytest.mark.parametrize("code", ["MJPG", "mp4v"])
def test_a_video_of_one_frame_is_read_as_often_as_asked(tmp_path, code):
    path = tmp_path / ("one.avi" if code == "MJPG" else "one.mp4")
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*code), 25.0, (128, 96))
    writer.write(np.full((96, 128, 3), 90, np.uint8))
    writer.release()
    with LimitedSource(path, DecoderLimits()) as source:
        assert [len(list(source.frames(0))) for _ in range(3)] == [1, 1, 1]


PROBE = """
import os, signal, socket, sys, threading
import cv2
from pytracking.video.sandbox import confine
confine(2**28)
def connect():
    socket.socket().connect(("127.0.0.1", 9))
def send():
    socket.socket(type=socket.SOCK_DGRAM).sendto(b"a frame", ("127.0.0.1", 9))
def replace():
    os.replace(sys.argv[1], sys.argv[1] + "x")
def opened(path):
    return os.open(path, os.O_RDONLY)
def memory():
    bytearray(2**29)
tries = {
    "connect": connect, "send": send, "socketpair": socket.socketpair,
    "fork": os.fork, "exec": lambda: os.execv("/bin/true", ["true"]),
    "create": lambda: open(sys.argv[1] + ".new", "w"), "append": lambda: open(sys.argv[1], "a"),
    "update": lambda: open(sys.argv[1], "r+"), "remove": lambda: os.remove(sys.argv[1]), "replace": replace,
    "mkdir": lambda: os.mkdir(sys.argv[1] + "d"), "truncate": lambda: os.truncate(sys.argv[1], 0),
    "link": lambda: os.link(sys.argv[1], sys.argv[1] + "l"), "symlink": lambda: os.symlink("x", sys.argv[1] + "s"),
    "chmod": lambda: os.chmod(sys.argv[1], 0), "chmod_open": lambda: os.chmod(opened(sys.argv[1]), 0),
    "chmod_at": lambda: os.chmod(sys.argv[1], 0, dir_fd=opened("/")), "chown": lambda: os.chown(sys.argv[1], -1, -1),
    "chown_open": lambda: os.chown(opened(sys.argv[1]), -1, -1), "lchown": lambda: os.lchown(sys.argv[1], -1, -1),
    "chown_at": lambda: os.chown(sys.argv[1], -1, -1, dir_fd=opened("/")),
    "kill": lambda: os.kill(os.getppid(), 0), "kill_thread": lambda: signal.pthread_kill(threading.get_ident(), 0),
    "kill_open": lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0), "memory": memory,
    "read": lambda: open(sys.argv[1], "rb").read(), "thread": lambda: threading.Thread(target=int).start(),
    "descriptors": lambda: [os.dup(0) for _ in range(100)],
}
for name, attempt in tries.items():
    try:
        attempt()
        print(name, "done")
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_a_decoder_can_read_and_compute_and_nothing_else(video):
    command = [sys.executable, "-c", PROBE, str(video)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    said = dict(line.split() for line in done.stdout.splitlines())
    assert said.pop("read") == said.pop("thread") == "done"
    assert said.pop("memory") == "MemoryError" and said.pop("descriptors") == "OSError"
    assert {name for name, end in said.items() if end != "PermissionError"} == set() and len(said) == 24
    assert sorted(path.name for path in video.parent.iterdir()) == ["clip.mp4"]


FAKES = {
    "says nothing": "import time; time.sleep(60)",
    "half a message": "import os, time; os.write(1, b'\\0\\0\\0\\x09{'); time.sleep(60)",
    "dies": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "a head without end": "import sys; sys.stdout.buffer.write(b'\\xff' * 9000)",
    "no JSON": "import sys; sys.stdout.buffer.write(b'\\0\\0\\0\\x02no')",
    "a picture that is too large": "say(width=10**6, height=10**6, bytes=3 * 10**12)",
    "a picture of another size": "say(width=10, height=10, bytes=10**9)",
    "a negative size": "say(width=-10, height=-10, bytes=300)",
    "a size that is no number": "say(width='9', height=9, bytes=300)",
    "a negative length": "say(bytes=-1)",
}
SAY = """
import json, sys
def say(**head):
    text = json.dumps(head).encode()
    sys.stdout.buffer.write(len(text).to_bytes(4, "big") + text + bytes(1000))
"""


@pytest.mark.parametrize("fake", FAKES)
def test_a_decoder_that_was_taken_over_is_not_believed(video, monkeypatch, fake):
    monkeypatch.setattr(limited_source, "COMMAND", (sys.executable, "-S", "-c", SAY + FAKES[fake]))
    began = time.monotonic()
    with pytest.raises(VideoError, match=r"took longer than 2 s|crashed") as caught:
        LimitedSource(video, DecoderLimits(seconds=2.0))
    assert time.monotonic() - began < 30  # of 60 that it would sleep
    assert ("took longer" in str(caught.value)) == (fake in ("says nothing", "half a message"))


@pytest.mark.parametrize("name", ["list.mp4", "list.m3u8", "list.avi"])
def test_playlists_that_name_other_files_are_not_followed(video, tmp_path, name):
    lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:2", "#EXTINF:2,", video.as_uri(), "#EXT-X-ENDLIST", ""]
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(VideoError):
        LimitedSource(tmp_path / name, DecoderLimits())
    (tmp_path / name).write_text(f"ffconcat version 1.0\nfile '{video}'\n")
    with pytest.raises(VideoError):
        LimitedSource(tmp_path / name, DecoderLimits())


def test_frames_that_are_too_large_or_take_too_much_memory_are_refused(video, tmp_path):
    with pytest.raises(VideoError, match="128x96 pixels are too large"):
        LimitedSource(video, DecoderLimits(max_pixels=128 * 96 - 1))
    large = tmp_path / "large.avi"
    writer = cv2.VideoWriter(str(large), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (4096, 2304))
    writer.write(np.zeros((2304, 4096, 3), np.uint8))
    writer.release()
    with pytest.raises(VideoError), LimitedSource(large, DecoderLimits(memory=20 * 2**20)) as source:
        list(source)
    with LimitedSource(large, DecoderLimits()) as source:
        assert next(iter(source)).shape == (2304, 4096, 3)


def test_pictures_are_decoded_elsewhere_too():
    picture = np.full((48, 64, 3), (200, 120, 40), np.uint8)
    data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 100])[1].tobytes()
    huge = data.replace(b"\xff\xc0\x00\x11\x08\x00\x30\x00\x40", b"\xff\xc0\x00\x11\x08\xff\xf0\xff\xf0")
    assert huge != data
    with PictureDecoder(DecoderLimits()) as decoder:
        assert np.abs(decoder.decode(data).astype(int) - picture).max() <= 3
        for bad in (b"", b"\xff\xd8", data[:200], huge):
            with pytest.raises(VideoError):
                decoder.decode(bad)
        assert decoder.decode(data).shape == (48, 64, 3), "it lives on"


def damaged(data: bytes, seed: int) -> bytes:
    """A file with some bytes changed, cut, repeated or filled."""
    rng, data = random.Random(seed), bytearray(data)
    for _ in range(rng.choice((1, 3, 20, 200))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    if rng.random() < 0.2:
        place = rng.randrange(len(data) or 1)
        data[place : place + 4] = rng.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(4)))
    return bytes(data)


def decode_damaged(video: Path, path: Path, seed: int) -> str:
    """What becomes of a damaged file: its frames, or the sentence that refuses it."""
    path.write_bytes(damaged(video.read_bytes(), seed))
    try:
        with LimitedSource(path, DecoderLimits(seconds=20.0)) as source:
            count = sum(1 for _ in zip(range(200), source, strict=False))
        return f"{count} frames"
    except VideoError as error:
        return json.dumps(str(error))


@pytest.mark.parametrize("seed", range(8))
def test_damaged_files_give_frames_or_a_sentence(video, tmp_path, seed):
    assert decode_damaged(video, tmp_path / "damaged.mp4", seed)
