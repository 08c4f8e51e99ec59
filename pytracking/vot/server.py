"""A tracker behind the TraX protocol.

One process serves any number of initialisations. It writes protocol messages to its standard output, so everything
that the tracker prints goes to standard error, which the toolkit keeps as the tracker's log.
"""
from __future__ import annotations

import contextlib
import faulthandler
import sys
import traceback
from collections.abc import Iterator

import trax

from pytracking.vot.session import TrackerFactory, TrackingSession


def serve(
    create: TrackerFactory,
    name: str,
    *,
    conversion: str | None = None,
    first_run: int = 0,
    timeout: float | None = None,
) -> int:
    """Answers requests until the client quits.

    Args:
        create: loads the tracker.
        name: what the tracker calls itself to the client.
        conversion: how polygons become boxes, see :class:`TrackingSession`.
        first_run: repetitions completed before, see :class:`SeedSchedule`.
        timeout: seconds after which a call into the tracker is taken for hung and its stack written to the log.

    Returns:
        The exit code: 1 if the tracker failed, else 0.
    """
    with contextlib.redirect_stdout(sys.stderr):
        # Loading comes first, so that it costs nothing in real-time experiments. But a failure to load must wait for
        # the handshake: before it the client would only say that it cannot connect.
        failure = None
        try:
            with _stack_on_hang(timeout, give_up=True):
                session = TrackingSession(create(), conversion=conversion, first_run=first_run)
        except Exception as error:  # whatever a tracker raises belongs in the log
            failure = error
        server = trax.Server(
            [trax.Region.RECTANGLE, trax.Region.POLYGON], [trax.Image.PATH], ["color"], tracker_name=name
        )
        try:
            if failure is not None:
                raise failure
            _answer_requests(server, session, timeout)
        except Exception as error:
            traceback.print_exception(error)
            sys.stderr.flush()
            server.quit(_one_line(error))
            return 1
        server.quit()
        return 0


def _answer_requests(server: trax.Server, session: TrackingSession, timeout: float | None) -> None:
    while True:
        request = server.wait()
        if request.type not in ("initialize", "frame"):
            return
        image_path = request.image["color"].path()
        with _stack_on_hang(timeout):
            if request.type == "initialize":
                box, properties = session.start(image_path, _numbers(request.objects)), {}
            else:
                box, confidence = session.follow(image_path)
                properties = {"confidence": confidence}
        server.status([(trax.Rectangle.create(*box), properties)])


def _numbers(objects: list) -> list[float]:
    if len(objects) != 1:
        raise ValueError(f"asked to start on {len(objects)} objects; this tracker follows one")
    region = objects[0][0]
    if region.type == trax.Region.RECTANGLE:
        return list(region.bounds())
    if region.type == trax.Region.POLYGON:
        return [number for point in region for number in point]
    raise ValueError(f"cannot start on a region of type '{region.type}', only on rectangles and polygons")


@contextlib.contextmanager
def _stack_on_hang(timeout: float | None, give_up: bool = False) -> Iterator[None]:
    """Writes the stack of all threads to the log if the block takes longer; the client then ends the process.

    During loading no client watches yet (the toolkit waits for the handshake without limit): ``give_up`` exits.
    """
    if timeout is None:
        yield
        return
    faulthandler.dump_traceback_later(timeout, exit=give_up)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _one_line(error: Exception) -> str:
    """TraX carries the reason in one line of the protocol."""
    return " ".join(f"{type(error).__name__}: {error}".split())
