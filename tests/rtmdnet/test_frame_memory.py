"""The sample memory: order, forgetting, frames with few samples."""
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pytracking.tracker.rtmdnet.frame_memory import FrameMemory, SampleSet


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=15), st.integers(1, 6), st.none() | st.integers(1, 8))
def test_holds_the_last_frames_oldest_first(counts, capacity, wanted):
    memory = FrameMemory(capacity, 4)
    frames = [torch.full((count, 2), float(number)) for number, count in enumerate(counts)]
    for frame in frames:
        memory.add(frame)
    remembered = frames[-capacity:] if wanted is None else frames[-capacity:][-wanted:]
    held = memory.last(wanted)
    torch.testing.assert_close(held.take(torch.arange(len(held))), torch.cat(remembered))
    assert len(memory) == min(len(frames), capacity)


def test_repeated_positions_are_taken_repeatedly():
    held = SampleSet.whole(torch.arange(6.0).view(3, 2))
    assert held.take(torch.tensor([2, 0, 2])).tolist() == [[4, 5], [0, 1], [4, 5]]


def test_an_empty_memory_says_so():
    with pytest.raises(ValueError, match="empty"):
        FrameMemory(3, 4).last()


def test_too_many_samples_are_refused():
    with pytest.raises(ValueError, match="got 5 samples.*at most 4"):
        FrameMemory(3, 4).add(torch.zeros(5, 2))
