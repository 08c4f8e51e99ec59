"""Tracks an object in one's own video: ``python pytracking/run_video.py rls_dimp default VIDEO --save out.mp4``."""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

import pytracking
from pytracking.cli.computing import add_computing_options, apply_computing_options
from pytracking.evaluation.environment import apply_flags, env_settings
from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.tracker import MissingWeightsError, UnknownTrackerError
from pytracking.utils.boxes import BoxError
from pytracking.utils.notices import show_warnings_plainly
from pytracking.utils.video_writer import VideoWriter
from pytracking.video.box_choice import NoBoxError, draw_with_mouse, has_screen
from pytracking.video.overlay import draw_output
from pytracking.video.recorder import COMPLETE, Recorder
from pytracking.video.sources import FrameSource, open_source
from pytracking.video.tracking import READ_ERRORS, TrackedFrame, track_video
from pytracking.video.window import Window

USER_ERRORS = (*READ_ERRORS, MissingWeightsError, UnknownTrackerError, NoBoxError, BoxError, ValueError, OSError)


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Track an object in a video, a folder of frames or a stream.")
    parser.add_argument("tracker_name", help="folder in pytracking/tracker, e.g. rls_dimp")
    parser.add_argument("tracker_param", help="file in pytracking/parameter/<tracker>, e.g. default")
    parser.add_argument("video", help="video file, folder of frames, rtsp:// or http:// address, or demo:NAME")
    parser.add_argument("--optional_box", type=float, nargs=4, metavar=("X", "Y", "W", "H"), help="in the first frame")
    parser.add_argument("--start_frame", type=int, default=1, metavar="N", help="counted from 1, which is the default")
    parser.add_argument("--save", type=Path, metavar="OUT.mp4", help="write a video with box, score and speed drawn")
    parser.add_argument("--save_results", action="store_true", help="write boxes, times and scores (txt, CSV, JSON)")
    parser.add_argument("--no_display", action="store_true", help="open no window")
    parser.add_argument("--results_path", help="folder of result files")
    parser.add_argument("--network_path", help="folder of network weights")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    add_computing_options(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_arguments(argv)
    apply_flags(results_path=args.results_path, network_path=args.network_path)
    show_warnings_plainly()
    try:
        apply_computing_options(args)
        if args.start_frame < 1:
            raise ValueError("--start_frame must be at least 1")
        with open_source(args.video) as source:
            handle = pytracking.load(args.tracker_name, args.tracker_param, device=args.device)
            return track_and_write(handle, source, args)
    except KeyboardInterrupt:
        print("\ninterrupted before the first frame was tracked", file=sys.stderr)
        return 130
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def track_and_write(handle: TrackerHandle, source: FrameSource, args: argparse.Namespace) -> int:
    """Runs the loop; Ctrl-C, a closed window and an unreadable frame keep what is done."""
    show = not args.no_display and has_screen()
    if not (show or args.save or args.save_results):
        print("there is no window to watch: boxes are written as with --save_results", file=sys.stderr)
        args.save_results = True
    about = {
        "tracker": handle.spec.name,
        "parameter": handle.spec.parameter_name,
        "network": handle.spec.weights.name,
        "video": os.path.abspath(args.video) if os.path.exists(args.video) else args.video,
        "fps": source.fps,
    }
    recorder = None
    if args.save_results:
        recorder = Recorder(_results_folder(handle), source.name, about, first_frame=args.start_frame)
    ended, code, tracked = COMPLETE, 0, 0
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(VideoWriter(args.save, source.fps)) if args.save else None
        window = stack.enter_context(Window(f"{handle.spec.display_name}: {source.name}")) if show else None
        total = source.length and max(0, source.length - args.start_frame + 1)
        bar = stack.enter_context(tqdm(total=total, unit="frame", dynamic_ncols=True))
        try:
            for step in track_video(handle, source, _box_chooser(args, show), args.start_frame - 1):
                _write_step(step, recorder, writer, window)
                tracked += 1
                bar.update()
                if window is not None and window.closed:
                    ended = "the window was closed"
                    break
        except KeyboardInterrupt:
            ended, code = "interrupted", 130
        except READ_ERRORS as error:
            if tracked == 0:
                raise
            ended, code = str(error), 1
    print(f"{tracked} frames tracked; stopped by: {ended}", file=sys.stderr if code else sys.stdout)
    if recorder is not None and tracked:
        print(f"boxes: {recorder.finish(ended).csv} (and .txt, .json beside it)")
    if args.save and tracked:
        print(f"video: {args.save}")
    return code


def _write_step(
    step: TrackedFrame, recorder: Recorder | None, writer: VideoWriter | None, window: Window | None
) -> None:
    if recorder is not None:
        recorder.add(step.output, step.seconds)
    if writer is not None or window is not None:
        picture = draw_output(step.frame, step.output, f"{step.fps:.0f} fps" if step.index else "start")
        if writer is not None:
            writer.write(picture)
        if window is not None:
            window.show(picture)


def _box_chooser(args: argparse.Namespace, show: bool) -> Callable[[np.ndarray], list[float]]:
    if args.optional_box is not None:
        return lambda frame: args.optional_box
    if show:
        return draw_with_mouse
    from pytracking.web.ask_box import ask_in_browser

    return ask_in_browser


def _results_folder(handle: TrackerHandle) -> Path:
    parameter = handle.spec.results_dir.name  # carries the network's name where that is not the paper's
    return env_settings().results_path / handle.spec.name / parameter / "videos"


if __name__ == "__main__":
    sys.exit(main())
