"""Tracks objects in front of a camera: ``python pytracking/run_webcam.py rls_dimp default``.

Keys in the window: ``r`` draws a new box on the current picture, ``a`` adds a target, ``x`` removes the oldest one,
``q`` or ESC quits.
"""
import argparse
import contextlib
import sys
from typing import Any

from pytracking.cli import tracker_options as options
from pytracking.cli.commands import command_parser, run_command
from pytracking.evaluation.handle import TrackerHandle
from pytracking.video.overlay import draw_targets
from pytracking.video.sources import FrameSource, open_source
from pytracking.video.window import NoBoxError, Window, draw_with_mouse, has_screen


def run_webcam(
    tracker_name: str,
    tracker_param: str,
    debug: int | None = None,
    visdom_info: dict[str, Any] | None = None,
    *,
    camera: str = "0",
    boxes: list[list[float]] | None = None,
    **tracker_options: Any,
) -> None:
    """Tracks objects in front of a camera (its number, or an rtsp:// or http:// address) and shows them in a window.

    ``visdom_info`` only prints a note. ``tracker_options`` are keywords of :class:`TrackerHandle`.
    """
    options.note_visdom(visdom_info)
    if not has_screen():
        raise NoBoxError("a camera needs a window, and there is no screen here; try `python -m pytracking serve`")
    if debug:
        tracker_options["overrides"] = {**(tracker_options.get("overrides") or {}), "debug": debug}
    with open_source(camera) as source:
        handle = TrackerHandle(tracker_name, tracker_param, **tracker_options)
        with contextlib.suppress(KeyboardInterrupt):  # the way to quit if the window takes no keys
            watch(handle, source, boxes or [])


def watch(handle: TrackerHandle, source: FrameSource, boxes: list[list[float]]) -> None:
    """Shows the camera's pictures; tracks ``boxes`` from the first one on, and boxes drawn later."""
    targets, next_id = handle.several(), len(boxes) + 1
    with Window(f"{handle.spec.display_name}  (r: new box, a: one more, x: remove, q: end)") as window:
        for number, frame in enumerate(source):
            if number == 0 and boxes:
                targets.init(frame, dict(enumerate(boxes, 1)))
                continue
            window.show(draw_targets(frame, targets.update(frame)))
            if window.closed:
                return
            if window.key == ord("r"):
                targets.init(frame, {1: draw_with_mouse(frame)})
                next_id = 2
            elif window.key == ord("a"):
                targets.add(frame, next_id, draw_with_mouse(frame))
                next_id += 1
            elif window.key == ord("x") and targets.ids:
                targets.remove(targets.ids[0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_tracker_arguments(parser)
    parser.add_argument("--camera", default="0", help="number of the camera, or an rtsp:// or http:// address")
    parser.add_argument(
        "--box", type=float, nargs=4, metavar=("X", "Y", "W", "H"), action="append", default=[], dest="boxes",
        help="box in the first picture; repeat it for several targets",
    )  # fmt: skip
    options.add_tracker_options(parser)


def run(args: argparse.Namespace) -> None:
    tracker = options.apply_tracker_options(args)
    run_webcam(args.tracker_name, args.tracker_param, camera=args.camera, boxes=args.boxes, **tracker)


def main(argv: list[str] | None = None) -> int:
    return run_command(command_parser("webcam", script=True), run, argv)


if __name__ == "__main__":
    sys.exit(main())
