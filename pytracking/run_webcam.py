"""Tracks what the camera sees: ``python pytracking/run_webcam.py rls_dimp default``.

Keys in the window: ``r`` draws a new box on the current picture, ``q`` or ESC ends.
"""
from __future__ import annotations

import argparse
import sys

import pytracking
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.evaluation.environment import apply_flags
from pytracking.run_video import USER_ERRORS
from pytracking.utils.notices import show_warnings_plainly
from pytracking.video.box_choice import NoBoxError, draw_with_mouse, has_screen
from pytracking.video.overlay import draw_output
from pytracking.video.sources import FrameSource, open_source
from pytracking.video.window import Window


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Track an object that the camera sees (r: new box, q: end).")
    parser.add_argument("tracker_name", help="folder in pytracking/tracker, e.g. rls_dimp")
    parser.add_argument("tracker_param", help="file in pytracking/parameter/<tracker>, e.g. default")
    parser.add_argument("--camera", default="0", help="number of the camera, or an rtsp:// or http:// address")
    parser.add_argument("--network_path", help="folder of network weights")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    add_computing_options(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    apply_flags(network_path=args.network_path)
    show_warnings_plainly()
    try:
        apply_computing_options(args)
        if not has_screen():
            raise NoBoxError(
                "a camera needs a window, and there is no screen here; try `python -m pytracking serve`"
            )
        with open_source(args.camera) as source:
            watch(pytracking.load(args.tracker_name, args.tracker_param, device=args.device), source)
    except KeyboardInterrupt:
        pass
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def watch(handle, source: FrameSource) -> None:
    """Shows the camera's picture; tracks from the first ``r`` on."""
    tracking = False
    with Window(f"{handle.spec.display_name}  (r: new box, q: end)") as window:
        for frame in source:
            picture = draw_output(frame, handle.update(frame)) if tracking else frame
            window.show(picture)
            if window.closed:
                return
            if window.key == ord("r"):
                handle.init(frame, draw_with_mouse(frame))
                tracking = True


if __name__ == "__main__":
    sys.exit(main())
