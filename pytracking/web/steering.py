"""The page's control of a running session, shared between the page's thread and the tracking thread."""
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pytracking.web.messages import Command, Correct, Drawn, Message

POLL_SECONDS = 0.1


@dataclass
class Steering:
    """The page's messages enter through :meth:`handle`; the session waits for them and queries the state."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    paused: bool = False
    steps: int = 0  # single frames requested while paused
    stopped: bool = False
    corrections: deque[Correct] = field(default_factory=lambda: deque(maxlen=16))
    drawn: int = -1  # last frame that the page has drawn
    last_message: float = field(default_factory=time.monotonic)

    def handle(self, message: Message) -> None:
        """Applies a message from the page."""
        with self.changed:
            self.last_message = time.monotonic()
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
        """Wakes a session that may be waiting for something other than a message."""
        with self.changed:
            self.last_message = time.monotonic()
            self.changed.notify_all()

    def wait_for_turn(
        self, index: int, in_flight: int, idle_seconds: float, ready: Callable[[], bool] = lambda: True
    ) -> bool:
        """Blocks until frame ``index`` may be tracked or a correction has arrived; returns False to end the session.

        A session also ends ``idle_seconds`` after the page's last message. Up to ``in_flight`` frames may be sent but
        not yet drawn. Call :meth:`nudge` after a change of ``ready``, which says whether the next frame is available.
        """
        with self.changed:
            while True:
                if self.stopped or time.monotonic() - self.last_message > idle_seconds:
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
        """Removes and returns the next correction; frames from there on then count as not drawn."""
        with self.changed:
            taken = self.corrections.popleft() if self.corrections else None
            if taken is not None:
                self.drawn = min(self.drawn, taken.frame - 1)
            return taken
