"""ONNX Runtime sessions that measure how many threads are fastest.

Two threads can be nearly twice as fast as one on an idle machine (ResNet-50: 67 ms against 128) but slower on a busy
one, and the load may change at any time. Results are bitwise identical for any number of threads, so each way to run is
timed in use, the fastest is preferred, and the others are retried occasionally. A batch can also be split into one part
per thread, which avoids waiting and is always done if every thread gets a part. Operators of small networks are too
short to be shared by threads.
"""
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
FIRST_RUNS = 3  # initial runs of each way; the first one is a warm-up and is not counted
PROBE_EVERY = 40  # least number of runs between two trials of a slower way
TRIAL_SHARE = 0.05  # largest share of time spent on trials: on a busy machine one trial can take as long as 30 runs
HOPELESS = 3  # times the best way's time: a single run this slow, even a warm-up, ends the trial
REMEMBERED = 5  # latest times of each way; their median is compared
SMALL_GRAPH = 20 * 2**20  # bytes: threads of smaller graphs wait so often and briefly that sleeping costs too much


def make_session(
    graph: bytes | str, threads: int, *, spinning: bool = False, provider: str = CPU_PROVIDER
) -> onnxruntime.InferenceSession:
    """Creates an ONNX Runtime session.

    Args:
        graph: content or path of an ONNX file.
        threads: threads per operator on the CPU.
        spinning: threads busy-wait for each other during a run (never between runs).
        provider: execution provider; operators that it lacks run on the CPU.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.add_session_config_entry("session.dynamic_block_base", "4")  # delayed threads get less work
    return onnxruntime.InferenceSession(graph, options, providers=list(dict.fromkeys([provider, CPU_PROVIDER])))


class WayChoice:
    """Finds the fastest of ``ways`` ways to do the same thing from their run times; tries the first one first."""

    def __init__(self, ways: int) -> None:
        self._times = [deque(maxlen=REMEMBERED) for _ in range(ways)]
        self._runs = [0] * ways
        self._trials = [way for way in range(ways) for _ in range(FIRST_RUNS)]  # still to do
        self._runs_since_trial = 0
        self._seconds_since_trial = 0.0
        self.best = 0

    def next(self) -> int:
        """The way to use for the next run."""
        if not self._trials and self._runs_since_trial >= PROBE_EVERY and len(self._runs) > 1:
            others = (way for way in range(len(self._runs)) if way != self.best)
            candidate = min(others, key=self._runs.__getitem__)
            if self._times[candidate][-1] <= TRIAL_SHARE * self._seconds_since_trial:
                self._trials = [candidate]
        return self._trials[0] if self._trials else self.best

    def add(self, way: int, seconds: float) -> None:
        """Records the time of a run."""
        self._runs[way] += 1
        self._runs_since_trial += 1
        self._seconds_since_trial += seconds
        best_times = self._times[self.best]
        hopeless = way != self.best and bool(best_times) and seconds > HOPELESS * statistics.median(best_times)
        if self._runs[way] > 1 or hopeless:
            self._times[way].append(seconds)
        if not self._trials:
            return
        self._trials.pop(0)
        if hopeless:
            self._trials = [each for each in self._trials if each != way]
        self._runs_since_trial, self._seconds_since_trial = 0, 0.0
        known = [way for way, times in enumerate(self._times) if times]
        self.best = min(known, key=lambda way: statistics.median(self._times[way]), default=0)


class AdaptiveSession:
    """Runs a graph with whichever number of threads is fastest; on devices other than the CPU there is no choice.

    Args:
        graph: content of an ONNX file.
        threads: maximal number of threads.
        provider: see :func:`make_session`.
        batched: inputs that are, like all outputs, batches of independent items.
        least: smallest number of items in a part of a batch.
        short: its operators are too short for threads to share; batches may still be split.
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
        self._sessions = []  # one thread first: on a busy machine, a run with several can take as long as ten others
        if provider == CPU_PROVIDER:
            self._sessions.append(make_session(graph, 1))
        if threads > 1 and not short or provider != CPU_PROVIDER:
            self._sessions.append(make_session(graph, threads, spinning=len(graph) < SMALL_GRAPH, provider=provider))
        self._batched, self._least, self._short = batched, least, short
        self._threads, self._pool = 1, None  # for parts of a batch
        if threads > 1 and provider == CPU_PROVIDER and batched:
            self._threads, self._pool = threads, ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self.outputs = [output.name for output in self._sessions[0].get_outputs()]
        self._choices: dict[Hashable, WayChoice] = {}
        self._lock = threading.Lock()  # guards the choices: several threads may share a session

    def run(self, inputs: dict[str, Tensor], size: Hashable = None) -> list[Tensor]:
        """Computes the graph's outputs.

        Args:
            inputs: by name.
            size: identifies runs that take about the same time; the number of threads is chosen for each size.
        """
        arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in inputs.items()}
        return [torch.from_numpy(result) for result in self.run_arrays(arrays, size)]

    def run_arrays(self, inputs: dict[str, np.ndarray], size: Hashable = None) -> list[np.ndarray]:
        """:meth:`run` for arrays."""
        if is_side_by_side():
            return self._run_on_first(inputs)
        parts = 1
        if self._pool:
            parts = min(self._threads, *(len(inputs[name]) // self._least for name in self._batched))
        if parts == self._threads > 1 and not self._short:  # nothing is faster than one part per thread
            return self._run_in_parts(inputs, parts)
        with self._lock:
            choice = self._choices.setdefault(size, WayChoice(len(self._sessions) + (parts > 1)))
            way = choice.next()
        start = time.perf_counter()
        if way == len(self._sessions):
            results = self._run_in_parts(inputs, parts)
        else:
            results = self._sessions[way].run(self.outputs, inputs)
        seconds = time.perf_counter() - start
        with self._lock:
            choice.add(way, seconds)
        return results

    def _run_on_first(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return self._sessions[0].run(self.outputs, inputs)  # has one thread on a CPU

    def _run_in_parts(self, inputs: dict[str, np.ndarray], parts: int) -> list[np.ndarray]:
        split = {name: np.array_split(inputs[name], parts) for name in self._batched}
        pieces = [{**inputs, **dict(zip(split, each, strict=True))} for each in zip(*split.values(), strict=True)]
        return [np.concatenate(results) for results in zip(*self._pool.map(self._run_on_first, pieces), strict=True)]
