"""Worker processes that track sequences, and the messages between them and the runner.

Each worker has its own pipe. If the runner dies, even by ``kill -9``, the worker's next message fails and the worker
exits. If a worker dies, the runner sees its pipe close, counts its sequence as failed and starts another worker. The
run only ends early if no worker can start at all.
"""
import multiprocessing
import pickle
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from ltr.errors import UserError
from pytracking.evaluation.networks import FallbackWeightsWarning
from pytracking.evaluation.tasks import Outcome, Task, TaskRunner
from pytracking.utils.threads import thread_variables

REPORT_INTERVAL = 0.2  # seconds between progress messages
SHUTDOWN_GRACE = 2.0  # seconds for a worker to exit before it is killed


def _work(pipe: Connection, torch_threads: int, runner_class: type) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the runner decides what happens
    warnings.simplefilter("ignore", FallbackWeightsWarning)  # the runner has already shown it
    import cv2
    import torch

    torch.set_num_threads(torch_threads)
    cv2.setNumThreads(torch_threads)
    runner = runner_class()
    try:
        pipe.send(("ready", 0, None))
        while True:
            content = pipe.recv_bytes()
            try:
                outcome = runner.run(pickle.loads(content), _throttled(pipe))
            except Exception:  # e.g. unpickling a user's class that exists only in the runner's process
                outcome = Outcome(None, error=traceback.format_exc())
            pipe.send(("kept" if outcome.kept else "done", outcome.seconds, outcome.error))
    except (EOFError, OSError, RunnerGone):
        pass  # the runner has ended


class WorkerStartError(UserError, RuntimeError):
    """No worker process could start."""


class RunnerGone(BaseException):
    """Raised inside the tracker when the runner has ended; not an Exception, so it is not reported as a failure."""


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


class WorkerPool(AbstractContextManager):
    """A fixed number of workers; use as a context manager, which stops them all within seconds.

    Args:
        torch_threads: number of torch threads per worker.
        runner_class: runs the tasks in a worker; created without arguments, with a ``run`` like :class:`TaskRunner`'s.
    """

    def __init__(self, workers: int, torch_threads: int, runner_class: type = TaskRunner) -> None:
        self._torch_threads = torch_threads
        self._runner_class = runner_class
        self._any_ready = False
        self._workers = [self._start() for _ in range(workers)]

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
        """Yields outcomes as tasks end; ``progress`` is called with each running task and its frames done."""
        waiting = list(reversed(tasks))
        for worker in list(self._workers):
            yield from self._give(worker, waiting)
        while busy := {worker.pipe: worker for worker in self._workers if worker.task is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]
                try:
                    kind, value, error = worker.pipe.recv()
                except (EOFError, OSError):
                    yield Outcome(worker.task, error=self._exit_reason(worker))
                    yield from self._give(self._replace(worker), waiting)
                    continue
                self._any_ready = True
                if kind == "frames":
                    progress(worker.task, value)
                elif kind != "ready":
                    task, worker.task = worker.task, None
                    yield Outcome(task, value, error, kept=kind == "kept")
                    yield from self._give(worker, waiting)

    def _give(self, worker: _Worker, waiting: list[Task]) -> Iterator[Outcome]:
        """Sends a worker the next task; yields the outcomes of tasks that could not be sent."""
        worker.task = None
        while waiting:
            task = waiting.pop()
            try:
                worker.pipe.send(task)
            except OSError:
                yield Outcome(task, error=self._exit_reason(worker))
                worker = self._replace(worker)
            except Exception:  # it cannot be pickled
                yield Outcome(task, error=traceback.format_exc())
            else:
                worker.task = task
                return

    def _replace(self, worker: _Worker) -> _Worker:
        self._workers[self._workers.index(worker)] = new = self._start()
        return new

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._torch_threads, self._runner_class), daemon=True)
        with thread_variables(self._torch_threads):
            process.start()
        theirs.close()  # so that the pipe closes when the worker dies
        return _Worker(process, ours)

    def _exit_reason(self, worker: _Worker) -> str:
        worker.process.join()
        worker.pipe.close()
        code = worker.process.exitcode
        if not self._any_ready and code is not None and code > 0:
            raise WorkerStartError(
                f"worker processes exit before they start working (exit code {code}; see their output above). In your "
                "own script, put the call under `if __name__ == \"__main__\":`, because every worker imports the "
                "script; or use threads=0, which needs no workers."
            )
        killed = code == -getattr(signal, "SIGKILL", 9)
        names = {-each.value: f"signal {each.name}" for each in signal.Signals}
        reason = names.get(code, f"signal {-code}" if code and code < 0 else f"exit code {code}")
        hint = "; killed from outside, perhaps for lack of memory" if killed else ""
        return f"the worker process died ({reason}{hint})\n"
