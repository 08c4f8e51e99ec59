"""Checkpoints that ask for too much, or are damaged: a named error, soon and cheaply, or the network as it was."""
from collections import Counter

import pytest
import torch

from ltr.checkpoint import CheckpointError, load_network, read_checkpoint
from ltr.weights import bundled_networks
from tests.faults.corruption import corrupted
from tests.faults.hostile_checkpoints import archive, checkpoint, files, legacy, own_format, tensor, text
from tests.faults.measure import cost_of, quick_collections

HOSTILE = files()
SECONDS, TIMES_FILE = 2.0, 1.5  # that an error may take, of processor time and of the file's memory
SPARE = 40 * 2**20  # bytes of objects and of torch itself, beside what the file's size allows


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What the first network of a process costs is not the file's fault."""
    for path in bundled_networks():
        load_network(path)
    with quick_collections():
        yield


@pytest.mark.parametrize("attack", list(HOSTILE))
def test_small_files_cannot_ask_for_much(tmp_path, attack):
    path = tmp_path / "greedy.pth"
    path.write_bytes(HOSTILE[attack])
    cost = cost_of(lambda: load_network(path))
    assert isinstance(cost.error, CheckpointError), cost.error
    assert "greedy.pth" in str(cost.error) and len(str(cost.error)) < 1500
    assert cost.peak < SPARE + 2 * len(HOSTILE[attack])
    assert cost.seconds < SECONDS


def test_no_storage_is_made_that_the_file_cannot_fill(tmp_path, monkeypatch):
    """The old layout makes storages before it reads them; zeros count, though they are not resident before that."""
    path, asked, zeros = tmp_path / "greedy.pth", [], torch.zeros
    tensors = b"".join(text(key) + tensor(key, 3500, (4,)) + b"s" for key in "01")
    path.write_bytes(legacy(checkpoint(b"N", b"}" + tensors) + bytes(10_000)))
    monkeypatch.setattr(torch, "zeros", lambda size, **options: asked.append(size) or zeros(size, **options))
    with pytest.raises(CheckpointError, match="tensors claim 14000 bytes"):
        read_checkpoint(path)
    assert asked == [7000]


def test_a_pickle_of_countless_steps_is_refused(tmp_path):
    """None, and away with it: it costs no memory and a byte each, and would be a checkpoint in the end."""
    path = tmp_path / "endless.pth"
    for steps, refused in ((1000, False), (600_000, True)):
        path.write_bytes(archive(b"N0" * (steps // 2) + own_format(b"}")))
        if refused:
            with pytest.raises(CheckpointError, match="more than 500000 steps"):
                read_checkpoint(path)
        else:
            assert read_checkpoint(path).net == {}


@pytest.mark.parametrize("length", [6, 10])
def test_a_storage_is_as_long_as_its_tensors_say(tmp_path, length):
    net = b"}" + text("w") + tensor("0", 4, (3,)) + b"s"
    (tmp_path / "other.pth").write_bytes(archive(own_format(net), {"data/0": bytes(length)}))
    with pytest.raises(CheckpointError, match=f"has {length} bytes instead of 8"):
        read_checkpoint(tmp_path / "other.pth")


def recurring_cost(call, file_size):
    """What ``call`` costs each time: an excess is measured again, at most twice, and the last measurement counts.

    The peak is the whole process's, so now and then other threads' pages fall into it; the call's own recur.
    """
    for _ in range(3):
        cost = cost_of(call)
        if cost.seconds < SECONDS and cost.peak <= TIMES_FILE * file_size:
            break
    return cost


def damage_report(path, seeds, folder):
    """How corruptions of a network end (``same``, ``error``), and the most that an error took; all else raises."""
    content = path.read_bytes()
    whole = read_checkpoint(path)
    ends: Counter = Counter()
    worst_seconds, worst_memory = 0.0, 0.0
    for seed in seeds:
        damaged = folder / f"damaged_{path.name}"
        damaged.write_bytes(corrupted(content, seed))
        cost = recurring_cost(lambda file=damaged: read_checkpoint(file), len(content))
        if cost.error is None:
            assert cost.result.constructor == whole.constructor and cost.result.metadata == whole.metadata, seed
            assert cost.result.net.keys() == whole.net.keys(), seed
            assert all(torch.equal(cost.result.net[name], tensor) for name, tensor in whole.net.items()), seed
            ends["same"] += 1
        else:
            assert isinstance(cost.error, CheckpointError), (seed, cost.error)
            assert damaged.name in str(cost.error), seed
            ends["error"] += 1
            worst_seconds = max(worst_seconds, cost.seconds)
            worst_memory = max(worst_memory, cost.peak / len(content))
    assert worst_seconds < SECONDS and worst_memory <= TIMES_FILE
    return ends, worst_seconds, worst_memory


@pytest.mark.parametrize("path", bundled_networks(), ids=lambda path: path.stem)
def test_damaged_networks_load_exactly_or_not_at_all(tmp_path, path):
    """60 corruptions each; ``make soak`` makes 1000."""
    ends, _, _ = damage_report(path, range(60), tmp_path)
    assert ends["error"] > 30 and ends["same"] + ends["error"] == 60
