"""ONNX Runtime sessions that use as many threads as it pays to.

Two threads can be nearly twice as fast as one on an idle machine (ResNet-50: 67 ms against 128) and slower on a busy
one, and which of the two it will be in a minute cannot be known. The results are the same to the last bit for any
number of threads, so the choice is free: the ways to run are timed as they are used, the fastest is taken, and the
others are tried again now and then. A batch has one way more: a part of it for each thread, which then never waits for
the others; where that is work enough for all of them it is always taken. Operators of a small network are too short to
be shared.
"""
from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
import torch
from torch import Tensor

from ltr.engine.side_by_side import is_side_by_side

CPU_PROVIDER = "CPUExecutionProvider"
FIRST_RUNS = 3  # of each way, before one is preferred; the first of them warms up and does not count
PROBE_EVERY = 40  # least runs between two trials of a way that is not the fastest
TRIAL_SHARE = 0.05  # most of all time that trials may take: on a busy machine one of them can take as long as 30 runs
HOPELESS = 3  # times the best way's time: one such run is trial enough, warm or not
REMEMBERED = 5  # last times of each way, whose median counts
SMALL_GRAPH = 20 * 2**20  # bytes: threads of a smaller one wait so often and so briefly that sleeping costs too much


def make_session(
    graph: bytes | str, threads: int, *, spinning: bool = False, provider: str = CPU_PROVIDER
) -> onnxruntime.InferenceSession:
    """A session.

    Args:
        graph: content or path of an ONNX file.
        threads: threads of its operators on the CPU.
        spinning: let threads wait for each other awake while a run lasts; never between runs.
        provider: what computes; operators that it does not have run on the CPU.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.add_session_config_entry("session.dynamic_block_base", "4")  # a thread that is held up gets less work
    return onnxruntime.InferenceSession(graph, options, providers=list(dict.fromkeys([provider, CPU_PROVIDER])))


class WayChoice:
    """Which of several ways to do the same thing is fastest, learnt from their times.

    Args:
        ways: how many there are; the first is tried first.
    """

    def __init__(self, ways: int) -> None:
        self._times = [deque(maxlen=REMEMBERED) for _ in range(ways)]
        self._runs = [0] * ways
        self._waiting = [way for way in range(ways) for _ in range(FIRST_RUNS)]  # trials to come
        self._since_trial = 0  # runs
        self._seconds_since = 0.0
        self.best = 0

    def next(self) -> int:
        """The way to go now."""
        if not self._waiting and self._since_trial >= PROBE_EVERY and len(self._runs) > 1:
            others = (way for way in range(len(self._runs)) if way != self.best)
            candidate = min(others, key=self._runs.__getitem__)
            if self._times[candidate][-1] <= TRIAL_SHARE * self._seconds_since:
                self._waiting = [candidate]
        return self._waiting[0] if self._waiting else self.best

    def add(self, way: int, seconds: float) -> None:
        """How long it took."""
        self._runs[way] += 1
        self._since_trial += 1
        self._seconds_since += seconds
        best_times = self._times[self.best]
        hopeless = way != self.best and bool(best_times) and seconds > HOPELESS * statistics.median(best_times)
        if self._runs[way] > 1 or hopeless:
            self._times[way].append(seconds)
        if not self._waiting:
            return
        self._waiting.pop(0)
        if hopeless:
            self._waiting = [each for each in self._waiting if each != way]
        self._since_trial, self._seconds_since = 0, 0.0
        known = [way for way, times in enumerate(self._times) if times]
        self.best = min(known, key=lambda way: statistics.median(self._times[way]), default=0)


class AdaptiveSession:
    """A graph, run with one thread or with several; on another device than the CPU there is nothing to choose.

    Args:
        graph: content of an ONNX file.
        threads: most threads to use.
        provider: see :func:`make_session`.
        batched: inputs that are, like all outputs, batches of things that do not depend on each other.
        least: things in a part of a batch.
        short: its operators are too short for threads to share them; batches may still go in parts.
    """

    def __init__(
        self,
        graph: bytes,
        threads: int,
        provider: str = CPU_PROVIDER,
        *,
        batched: Sequence[str] = (),
        least: int = 1,
        short: bool = False,
    ) -> None:
        self._ways = []  # the safest first: on a busy machine a run with several threads can take as long as ten others
        if provider == CPU_PROVIDER:
            self._ways.append(make_session(graph, 1))
        if threads > 1 and not short or provider != CPU_PROVIDER:
            self._ways.append(make_session(graph, threads, spinning=len(graph) < SMALL_GRAPH, provider=provider))
        self._batched, self._least, self._short = batched, least, short
        self._threads, self._pool = 1, None  # for parts of a batch
        if threads > 1 and provider == CPU_PROVIDER and batched:
            self._threads, self._pool = threads, ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self.outputs = [output.name for output in self._ways[0].get_outputs()]
        self._choices: dict[Hashable, WayChoice] = {}
        self._lock = threading.Lock()  # of the choices: several threads may share a session

    def run(self, inputs: dict[str, Tensor], size: Hashable = None) -> list[Tensor]:
        """The graph's outputs.

        Args:
            inputs: by name.
            size: what tells runs apart that take different times; each kind finds its own number of threads.
        """
        arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in inputs.items()}
        return [torch.from_numpy(result) for result in self.run_arrays(arrays, size)]

    def run_arrays(self, inputs: dict[str, np.ndarray], size: Hashable = None) -> list[np.ndarray]:
        """:meth:`run` for arrays."""
        if is_side_by_side():
            return self._run_here(inputs)
        parts = 1
        if self._pool:
            parts = min(self._threads, *(len(inputs[name]) // self._least for name in self._batched))
        if parts == self._threads > 1 and not self._short:  # nothing is faster than a part for every thread
            return self._run_in_parts(inputs, parts)
        with self._lock:
            choice = self._choices.setdefault(size, WayChoice(len(self._ways) + (parts > 1)))
            way = choice.next()
        start = time.perf_counter()
        if way == len(self._ways):
            results = self._run_in_parts(inputs, parts)
        else:
            results = self._ways[way].run(self.outputs, inputs)
        seconds = time.perf_counter() - start
        with self._lock:
            choice.add(way, seconds)
        return results

    def _run_here(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return self._ways[0].run(self.outputs, inputs)  # on a CPU it has one thread

    def _run_in_parts(self, inputs: dict[str, np.ndarray], parts: int) -> list[np.ndarray]:
        split = {name: np.array_split(inputs[name], parts) for name in self._batched}
        pieces = [{**inputs, **dict(zip(split, each, strict=True))} for each in zip(*split.values(), strict=True)]
        return [np.concatenate(results) for results in zip(*self._pool.map(self._run_here, pieces), strict=True)]
