"""Serves a tracker through the TraX protocol.

One process serves any number of initialisations. Protocol messages go to standard output, which the client reads line
by line: it misses a message that shares a line with other text. Therefore the tracker's own output goes to standard
error (which the toolkit keeps as the tracker's log), and an unfinished line is ended before each message.
"""
import contextlib
import faulthandler
import io
import sys
import traceback
from collections.abc import Sequence
from typing import TextIO

import trax

from ltr.errors import UserError
from pytracking.vot_integration.session import TrackerFactory, VotSession, stack_on_hang


class CompleteLines(io.TextIOBase):
    """A stream that flushes after every write, and can end an unfinished line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = False

    def write(self, text: str) -> int:
        self._stream.write(text)
        self._stream.flush()
        self._open = not text.endswith("\n") if text else self._open
        return len(text)

    def end_line(self) -> None:
        """Writes a line break if the last text did not end with one."""
        if self._open:
            self.write("\n")


def serve(
    create: TrackerFactory,
    name: str,
    *,
    conversion: str | None = None,
    repetitions: Sequence[int] = (),
    timeout: float | None = None,
) -> int:
    """Answers requests until the client quits; returns the exit code, 1 if the tracker failed.

    ``create`` loads the tracker; the other arguments are those of :class:`VotSession`.
    """
    faulthandler.enable()  # also logs the stack of a crash in native code
    log = CompleteLines(sys.stderr)
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        # The tracker is loaded before the handshake, so that loading costs no time in real-time experiments. A failure
        # to load is reported after the handshake; before it, the client could only say that it cannot connect. The
        # toolkit waits for the handshake without limit, so a load that hangs must end its own process.
        session, failure = None, None
        try:
            with stack_on_hang(timeout, give_up=True):
                tracker = create()
            session = VotSession(tracker, conversion=conversion, repetitions=repetitions, timeout=timeout)
        except (Exception, SystemExit) as error:  # any error of a tracker goes to the log
            failure = error
        log.end_line()
        formats = [trax.Region.RECTANGLE, trax.Region.POLYGON]
        server = trax.Server(formats, [trax.Image.PATH], ["color"], tracker_name=name)
        try:
            if failure is not None:
                raise failure
            _answer_requests(server, session, log)
        except (Exception, SystemExit) as error:
            log.end_line()
            traceback.print_exception(error)
            server.quit(" ".join(f"{type(error).__name__}: {error}".split()))  # the protocol requires one line
            return 1
        log.end_line()
        server.quit()
        return 0


def _answer_requests(server: trax.Server, session: VotSession, log: CompleteLines) -> None:
    while (request := server.wait()).type != trax.TraxStatus.QUIT:
        image_path = request.image["color"].path()
        if request.type == trax.TraxStatus.INITIALIZE:
            box, properties = session.start(image_path, _numbers(request.objects)), {}
        else:
            box, confidence = session.follow(image_path)
            properties = {"confidence": confidence}
        log.end_line()
        server.status([(trax.Rectangle.create(*box), properties)])


def _numbers(objects: list) -> list[float]:
    if len(objects) != 1:
        raise UserError(f"got {len(objects)} objects to track; this tracker takes one")
    region = objects[0][0]
    if region.type == trax.Region.RECTANGLE:
        return list(region.bounds())
    if region.type == trax.Region.POLYGON:
        return [number for point in region for number in point]
    raise UserError(f"cannot start on a region of type '{region.type}', only on rectangles and polygons")
