"""Tracks objects in your own video: ``python pytracking/run_video.py rls_dimp default VIDEO --save out.mp4``."""
import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ltr.errors import UserError
from pytracking.cli.commands import command_parser, run_command
from pytracking.cli.tracker_options import add_tracker_arguments, add_tracker_options, apply_tracker_options
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.handle import TrackerHandle
from pytracking.utils.video_writer import VideoWriter
from pytracking.video.overlay import draw_targets
from pytracking.video.recorder import COMPLETE, Recorder
from pytracking.video.sources import FrameSource, open_source
from pytracking.video.tracking import READ_ERRORS, Changes, TrackedFrame, track_video
from pytracking.video.window import Window, draw_with_mouse, has_screen

BOX = ("X", "Y", "W", "H")


def run_video(
    tracker_name: str,
    tracker_param: str,
    videofile: str,
    optional_box: Sequence[float] | Sequence[Sequence[float]] | None = None,
    debug: int | None = None,
    save_results: bool = False,
    *,
    save: Path | None = None,
    start: int = 1,
    changes: dict[int, Changes] | None = None,
    display: bool = True,
    mot: bool = False,
    **tracker_options: Any,
) -> int:
    """Tracks objects in a video.

    Args:
        videofile: video file, folder of frames, rtsp:// or http:// address, or demo:NAME.
        optional_box: x, y, w, h in the first frame, or a list of such boxes; None asks for a box.
        start: number of the first frame, from 1.
        changes: targets added and removed later, by 0-based frame.
        tracker_options: ``network``, ``strict_weights`` and ``overrides`` of :class:`TrackerHandle`.

    Returns:
        The exit code: 0; 1 if a frame could not be read; 130 after Ctrl-C.
    """
    if start < 1:
        raise UserError("--start must be at least 1")
    if debug:
        tracker_options["overrides"] = {**(tracker_options.get("overrides") or {}), "debug": debug}
    show = display and has_screen()
    if not (show or save or save_results):
        print("no window to show: boxes are written as with --save-results", file=sys.stderr)
        save_results = True
    with open_source(videofile) as source, contextlib.ExitStack() as stack:
        if source.length is not None and start > source.length:
            raise UserError(f"--start {start}: {videofile} has {source.length} frames")
        handle = TrackerHandle(tracker_name, tracker_param, **tracker_options)
        recorder = _make_recorder(handle, source, videofile, start, mot) if save_results else None
        writer = stack.enter_context(VideoWriter(save, source.fps)) if save else None
        window = stack.enter_context(Window(f"{handle.spec.display_name}: {source.name}")) if show else None
        steps = track_video(handle, source, _box_chooser(optional_box, show), start - 1, changes or {})
        total = source.length and max(0, source.length - start + 1)
        with handle.frames_in_a_row():
            tracked, ended, code = follow(steps, total, recorder, writer, window)
    print(f"{tracked} frames tracked; stopped by: {ended}", file=sys.stderr if code else sys.stdout)
    if recorder is not None and tracked:
        print(f"boxes: {recorder.finish(ended)} (also as .txt and .json)")
    if save and tracked:
        print(f"video: {save}")
    return code


def follow(
    steps: Iterable[TrackedFrame],
    total: int | None,
    recorder: Recorder | None,
    writer: VideoWriter | None,
    window: Window | None,
) -> tuple[int, str, int]:
    """Runs the loop until the video ends, Ctrl-C, the window is closed or a frame cannot be read.

    Returns the number of frames tracked, why the loop ended, and the exit code.
    """
    tracked = 0
    with tqdm(total=total, unit="frame", dynamic_ncols=True) as bar:
        try:
            for step in steps:
                if recorder is not None:
                    recorder.add(step.outputs, step.seconds)
                if writer is not None or window is not None:
                    picture = draw_targets(step.frame, step.outputs, f"{step.fps:.0f} fps" if step.index else "start")
                if writer is not None:
                    writer.write(picture)
                if window is not None:
                    window.show(picture)
                tracked += 1
                bar.update()
                if window is not None and window.closed:
                    return tracked, "the window was closed", 0
        except KeyboardInterrupt:
            return tracked, "interrupted", 130
        except READ_ERRORS as error:
            if tracked == 0:
                raise
            return tracked, str(error), 1
    return tracked, COMPLETE, 0


def _make_recorder(handle: TrackerHandle, source: FrameSource, video: str, start: int, mot: bool) -> Recorder:
    metadata = {
        "tracker": handle.spec.name,
        "parameter": handle.spec.parameter_name,
        "network": handle.spec.weights.name,
        "video": os.path.abspath(video) if os.path.exists(video) else video,
        "fps": source.fps,
    }
    parameter = handle.spec.results_dir.name  # includes the network's name if that is not the paper's
    folder = env_settings().results_path / handle.spec.name / parameter / "videos"
    return Recorder(folder, source.name, metadata, first_frame=start, mot=mot)


def _box_chooser(boxes: Sequence[Any] | None, show: bool) -> Callable[[np.ndarray], dict[int, list[float]]]:
    """Returns a function that gives the boxes of the first frame by target id, from 1, or asks for them."""
    if boxes is not None:
        several = [boxes] if np.ndim(boxes) == 1 else boxes
        return lambda frame: {target: list(box) for target, box in enumerate(several, 1)}
    if show:
        return lambda frame: {1: draw_with_mouse(frame)}
    from pytracking.web.ask_box import ask_in_browser

    return lambda frame: {1: ask_in_browser(frame)}


def parse_changes(args: argparse.Namespace, first_id: int) -> dict[int, Changes]:
    """Parses ``--box-at`` and ``--remove-at`` to changes by 0-based frame; ids continue from ``first_id``."""
    changes: dict[int, Changes] = {}
    first_frames = dict.fromkeys(range(1, first_id), args.start)
    for target, (frame, *box) in enumerate(args.box_at, first_id):
        if frame != int(frame) or frame <= args.start:
            raise UserError(f"--box-at {frame:g}: the frame must be an integer after the first frame, {args.start}")
        first_frames[target] = int(frame)
        changes.setdefault(int(frame) - 1, Changes()).added[target] = box
    for frame, target in args.remove_at:
        if target not in first_frames or frame <= first_frames.pop(target):
            raise UserError(f"--remove-at {frame} {target}: there is no target {target} before frame {frame}")
        changes.setdefault(frame - 1, Changes()).removed.append(target)
    return changes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tracker_arguments(parser)
    parser.add_argument("video", help="video file, folder of frames, rtsp:// or http:// address, or demo:NAME")
    text = "box in the first frame; repeat it for several targets, which get the ids 1, 2, ..."
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--box", type=float, nargs=4, metavar=BOX, dest="boxes", help=text, **several)
    text = "add a target in a later frame"
    parser.add_argument("--box_at", type=float, nargs=5, metavar=("FRAME", *BOX), help=text, **several)
    text = "stop tracking a target from this frame on"
    parser.add_argument("--remove_at", type=int, nargs=2, metavar=("FRAME", "ID"), help=text, **several)
    parser.add_argument("--start", type=int, default=1, metavar="FRAME", help="first frame, from 1 (default: 1)")
    parser.add_argument("--output", type=Path, metavar="OUT.mp4", help="write a video with boxes and scores drawn")
    parser.add_argument("--save_results", action="store_true", help="write boxes, times and scores (txt, CSV, JSON)")
    parser.add_argument("--mot", action="store_true", help="also write the boxes in MOT format")
    parser.add_argument("--no_display", action="store_true", help="open no window")
    parser.add_argument("--results_path", help="folder of result files")
    add_tracker_options(parser)


def run(args: argparse.Namespace) -> int:
    return run_video(
        args.tracker_name,
        args.tracker_param,
        args.video,
        args.boxes or None,
        save_results=args.save_results or args.mot,
        save=args.output,
        start=args.start,
        changes=parse_changes(args, len(args.boxes or [None]) + 1),
        display=not args.no_display,
        mot=args.mot,
        **apply_tracker_options(args),
    )


def main(argv: list[str] | None = None) -> int:
    return run_command(command_parser("video", script=True), run, argv)


if __name__ == "__main__":
    sys.exit(main())
