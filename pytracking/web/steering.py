"""What the page wants of a running session; shared between the page's thread and the tracking thread."""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pytracking.web.messages import Command, Correct, Drawn, Message

POLL_SECONDS = 0.1


@dataclass
class Steering:
    """Messages go in by :meth:`hear`; the session waits and asks."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    paused: bool = False
    steps: int = 0  # single frames asked for while paused
    stopped: bool = False
    corrections: deque[Correct] = field(default_factory=lambda: deque(maxlen=16))
    drawn: int = -1  # last frame that the page has shown
    last_word: float = field(default_factory=time.monotonic)

    def hear(self, message: Message) -> None:
        """Takes a message of the page."""
        with self.changed:
            self.last_word = time.monotonic()
            if isinstance(message, Correct):
                self.corrections.append(message)
            elif isinstance(message, Drawn):
                self.drawn = max(self.drawn, message.index)
            elif isinstance(message, Command):
                self._command(message.name)
            self.changed.notify_all()

    def _command(self, name: str) -> None:
        if name == "stop":
            self.stopped = True
        elif name == "step":
            self.paused, self.steps = True, self.steps + 1
        else:
            self.paused = name == "pause"

    def nudge(self) -> None:
        """Something else happened that a session may be waiting for."""
        with self.changed:
            self.last_word = time.monotonic()
            self.changed.notify_all()

    def wait_for_turn(
        self, index: int, in_flight: int, idle_seconds: float, ready: Callable[[], bool] = lambda: True
    ) -> bool:
        """Blocks until frame ``index`` may be tracked, or a correction came; False ends the session.

        It also ends ``idle_seconds`` after the page's last word. ``in_flight`` frames may be sent but not yet drawn;
        whoever changes whether the next one is ``ready`` calls :meth:`nudge`.
        """
        with self.changed:
            while True:
                if self.stopped or time.monotonic() - self.last_word > idle_seconds:
                    return False
                if self.corrections:
                    return True
                if index - self.drawn <= in_flight and ready():
                    if not self.paused:
                        return True
                    if self.steps > 0:
                        self.steps -= 1
                        return True
                self.changed.wait(POLL_SECONDS)

    def take_correction(self) -> Correct | None:
        """The next correction, once; frames from there on count as not drawn."""
        with self.changed:
            taken = self.corrections.popleft() if self.corrections else None
            if taken is not None:
                self.drawn = min(self.drawn, taken.frame - 1)
            return taken
