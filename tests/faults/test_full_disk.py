"""A disk that takes a part of a file: nobody is left with that part under the file's name, and the error names it.

The system itself refuses to let a file grow (``RLIMIT_FSIZE``), so that what torch, OpenCV and FFmpeg write fails as
well: first a short write, then an error.
"""
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from ltr.checkpoint import save_checkpoint
from ltr.download import DownloadError, download
from ltr.trainers.trainer import load_state, save_state
from pytracking.utils.image_io import write_image
from pytracking.utils.video_writer import VideoWriter
from pytracking.video.recorder import Recorder
from pytracking.web.frames import FrameArchive

resource = pytest.importorskip("resource", reason="Windows has no limits of a process")
NOISE = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
ROOM = 100_000  # bytes that a file may have


@contextmanager
def little_room(size: int = ROOM):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def video(path: Path, frames: int = 40) -> None:
    with VideoWriter(path, 25.0) as writer:
        for seed in range(frames):
            writer.write(np.random.default_rng(seed).permutation(NOISE))


def network(path: Path, size: int = 100_000) -> None:
    save_checkpoint(path, {"w": torch.zeros(size)}, {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {}})


WRITERS = {
    "network.pth": network, "video.avi": video, "video.webm": video, "video.mp4": video, "video.mkv": video,
    "picture.png": lambda path: write_image(path, np.tile(NOISE, (3, 3, 1))),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRITERS))
def test_a_file_is_whole_or_not_there_and_the_error_names_it(tmp_path, name):
    path = tmp_path / "out" / name
    with little_room(), pytest.raises(OSError) as caught:
        WRITERS[name](path)
    assert str(path) in str(caught.value)
    assert list(path.parent.iterdir()) == []
    WRITERS[name](path)
    whole = path.read_bytes()
    assert len(whole) > ROOM, "it would have fitted"
    with little_room(), pytest.raises(OSError):
        WRITERS[name](path)
    assert path.read_bytes() == whole and list(path.parent.iterdir()) == [path], "the old file is lost"


def test_training_goes_on_from_the_state_before(tmp_path):
    layer, path = torch.nn.Linear(200, 200), tmp_path / "state.pth"
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    save_state(path, layer, optimizer, {}, {"epoch": 1})
    with little_room(), pytest.raises(OSError, match="state.pth"):
        save_state(path, layer, optimizer, {}, {"epoch": 2})
    assert load_state(path, torch.device("cpu"))["progress"] == {"epoch": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_download_names_its_file_and_goes_on_later(tmp_path):
    source, target = tmp_path / "source.pth", tmp_path / "network.pth"
    source.write_bytes(bytes(3 * ROOM))
    with little_room(), pytest.raises(OSError, match="network.pth.part") as caught:
        download(source.as_uri(), target)
    assert not isinstance(caught.value, DownloadError), "the connection is not at fault"
    assert not target.exists()
    download(source.as_uri(), target)
    assert target.read_bytes() == source.read_bytes()


def test_the_rows_of_a_video_name_their_file(tmp_path):
    recorder = Recorder(tmp_path, "clip", {"video": "clip.avi"})
    with little_room(5000), pytest.raises(OSError, match="clip.csv.part"):
        for _ in range(1000):
            recorder.add({1: {"target_bbox": [1.0, 2.0, 3.0, 4.0]}}, 0.01)


def test_a_frame_of_the_page_is_kept_whole_or_not(tmp_path):
    archive = FrameArchive(tmp_path / "run.frames", quota=2**30)
    frame = bytes(range(256)) * 100
    with little_room():
        with pytest.raises(OSError):
            for index in range(10):
                archive.put(index, frame)
        assert len(archive) == ROOM // len(frame)
        assert all(archive.get(index) == (index, frame) for index in range(len(archive)))
    archive.put(9, frame)
    assert archive.get(9) == (9, frame), "there is room again"
    archive.remove()
