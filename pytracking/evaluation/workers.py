"""Processes that track sequences for the runner, and the messages between them.

Each worker has its own pipe. If the runner dies, even by ``kill -9``, the worker's next message fails and it ends; if a
worker dies, the runner sees its pipe close, counts the sequence as failed and starts another worker.
"""
from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from pytracking.evaluation.origin import is_this_runs
from pytracking.evaluation.result_folder import store_result
from pytracking.evaluation.results import boxes_file
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import FallbackWeightsWarning, Tracker
from pytracking.utils.memory import peak_memory_mib, reset_peak_memory
from pytracking.utils.threads import thread_variables

REPORT_INTERVAL = 0.2  # seconds between two messages about progress
SHUTDOWN_GRACE = 2.0  # seconds a worker gets to end before it is killed


@dataclass
class Task:
    """One sequence for one tracker."""

    tracker: Tracker
    sequence: Sequence
    settings: str  # digest of what the result folder's record says
    rerun: bool = False  # replace a result that is there


@dataclass
class Outcome:
    """How a task ended."""

    task: Task
    seconds: float = 0.0  # inside the tracker
    error: str | None = None  # the traceback, if it failed
    kept: bool = False  # another run had stored the result meanwhile


class TaskRunner:
    """Runs tasks one after the other and keeps the last tracker's network loaded."""

    def __init__(self) -> None:
        self._tracker = None
        self._key: tuple | None = None

    def run(self, task: Task, progress: Callable[[int], None] | None = None) -> Outcome:
        """Tracks the sequence and stores the result, unless another run in the same folder has done so."""
        folder, sequence = task.tracker.results_dir, task.sequence
        try:
            if task.rerun:
                boxes_file(folder, sequence.name).unlink(missing_ok=True)  # if this fails, nothing must look complete
            elif is_this_runs(folder, sequence, task.settings):
                return Outcome(task, kept=True)
            reset_peak_memory()
            output = task.tracker.run_sequence(sequence, tracker=self._tracker_for(task), progress=progress)
            memory = peak_memory_mib()
            stored = store_result(folder, sequence, task.settings, output, memory, replace=task.rerun)
        except Exception:
            self._key = self._tracker = None  # its state is unknown now
            return Outcome(task, error=traceback.format_exc())
        return Outcome(task, seconds=float(output.times.sum()), kept=not stored)

    def _tracker_for(self, task: Task) -> Any:
        key = (task.tracker.name, task.tracker.parameter_name, task.tracker.network, repr(task.tracker.overrides))
        if key != self._key:
            self._tracker = None  # frees the old network first
            self._tracker = task.tracker.create_tracker()
            self._key = key
        return self._tracker


def _work(pipe: Connection, torch_threads: int, runner_class: type) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the runner decides what happens
    warnings.simplefilter("ignore", FallbackWeightsWarning)  # the runner has said it once
    import cv2
    import torch

    torch.set_num_threads(torch_threads)
    cv2.setNumThreads(torch_threads)
    runner = runner_class()
    try:
        while (task := pipe.recv()) is not None:
            outcome = runner.run(task, _throttled(pipe))
            pipe.send(("kept" if outcome.kept else "done", outcome.seconds, outcome.error))
    except (EOFError, OSError, RunnerGone):
        pass  # nobody waits for the result


class RunnerGone(BaseException):
    """Raised through the tracker when nobody listens any more; no Exception, so that it is not taken for a failure."""


def _throttled(pipe: Connection) -> Callable[[int], None]:
    last = 0.0

    def progress(frames: int) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_INTERVAL:
            last = time.monotonic()
            try:
                pipe.send(("frames", frames, None))
            except OSError as error:
                raise RunnerGone from error

    return progress


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    task: Task | None = None


class WorkerPool:
    """A fixed number of workers; use as a context manager, which ends them all within seconds.

    Args:
        workers: how many.
        torch_threads: threads for each of them.
        runner_class: runs the tasks in a worker; made without arguments, with a ``run`` like :class:`TaskRunner`'s.
    """

    def __init__(self, workers: int, torch_threads: int, runner_class: type = TaskRunner) -> None:
        self._torch_threads = torch_threads
        self._runner_class = runner_class
        self._workers = [self._start() for _ in range(workers)]

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + SHUTDOWN_GRACE
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()

    def run(self, tasks: list[Task], progress: Callable[[Task, int], None]) -> Iterator[Outcome]:
        """Yields outcomes as tasks end; ``progress`` hears the frames done of each running task."""
        waiting = list(reversed(tasks))
        for worker in self._workers:
            self._give(worker, waiting)
        while busy := {worker.pipe: worker for worker in self._workers if worker.task is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]
                try:
                    kind, value, error = pipe.recv()
                except (EOFError, OSError):
                    yield Outcome(worker.task, error=self._obituary(worker))
                    self._workers[self._workers.index(worker)] = worker = self._start()
                    self._give(worker, waiting)
                    continue
                if kind == "frames":
                    progress(worker.task, value)
                else:
                    task, worker.task = worker.task, None
                    yield Outcome(task, value, error, kept=kind == "kept")
                    self._give(worker, waiting)

    def _give(self, worker: _Worker, waiting: list[Task]) -> None:
        worker.task = waiting.pop() if waiting else None
        if worker.task is not None:
            worker.pipe.send(worker.task)

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._torch_threads, self._runner_class), daemon=True)
        with thread_variables(self._torch_threads):
            process.start()
        theirs.close()  # so that the pipe closes when the worker dies
        return _Worker(process, ours)

    def _obituary(self, worker: _Worker) -> str:
        worker.process.join()
        worker.pipe.close()
        code = worker.process.exitcode
        reason = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
        hint = "; killed from outside, perhaps because memory ran out" if code == -signal.SIGKILL else ""
        return f"the worker process died ({reason}{hint})\n"
