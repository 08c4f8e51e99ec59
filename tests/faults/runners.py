"""Tasks that end their worker at a chosen moment. A module of its own, so that workers can import it."""
from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from pytracking.evaluation.tasks import Outcome
from pytracking.utils.files import replacing

LARGE = 4 * 2**20  # bytes: more than a pipe holds, so that sending waits for the worker


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class FaultyTask:
    """``moment``: where the worker dies."""

    name: str
    moment: str = ""
    target: str = ""
    payload: bytes = field(default=bytes(LARGE), repr=False)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        if self.moment == "receiving":
            die()
        if self.moment == "unreadable":
            raise LookupError("this class is known to the runner alone")


class FaultyRunner:
    """Dies as its task says; the first two workers of a folder named by FAULTY_START die before they begin."""

    def __init__(self) -> None:
        folder = os.environ.get("FAULTY_START")
        if folder and len(list(Path(folder).iterdir())) < 2:
            (Path(folder) / str(os.getpid())).touch()
            die()

    def run(self, task: FaultyTask, progress) -> Outcome:
        progress(1)
        if task.moment == "tracking":
            die()
        if task.moment == "memory":
            raise MemoryError("no room for the network")
        with replacing(task.target) as temporary:
            temporary.write_text("result")
            if task.moment == "writing":
                die()
        return Outcome(task, seconds=1.0)
