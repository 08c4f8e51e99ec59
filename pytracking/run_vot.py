"""Runs a tracker as a TraX server for the VOT toolkit: ``python -m pytracking.run_vot TRACKER PARAMETER``."""
import argparse
import os
import sys
from typing import Any

from pytracking.vot_integration.regions import CONVERSIONS
from pytracking.vot_integration.toolkit import REPETITIONS_VARIABLE, require_trax


def run_vot2020(
    tracker_name: str,
    tracker_param: str,
    run_id: int | None = None,
    debug: int = 0,
    visdom_info: dict[str, Any] | None = None,
    *,
    network: str | None = None,
    conversion: str | None = None,
    timeout: float | None = None,
) -> int:
    """Serves a tracker to the VOT toolkit of any year until the toolkit ends it.

    Args:
        run_id: ignored: the toolkit numbers its repetitions, which determine the seeds.
        debug: ignored: the toolkit compares speeds.
        conversion: of polygons to boxes; None: as in the parameters.
        timeout: seconds per call after which its stack is logged.
    """
    require_trax()
    from pytracking.vot_integration.server import serve

    def create():
        # Imported here so that errors in the tracker's modules reach the client, too.
        from pytracking.vot_integration.trackers import TrackerSpec

        return TrackerSpec(tracker_name, tracker_param, network).load()

    return serve(
        create,
        f"{tracker_name}:{tracker_param}",
        conversion=conversion,
        repetitions=[int(number) for number in os.environ.get(REPETITIONS_VARIABLE, "").split()],
        timeout=timeout,
    )


def run_vot(tracker_name: str, tracker_param: str, run_id: int | None = None) -> int:
    """pytracking's entry point for older years; the protocol is the same."""
    return run_vot2020(tracker_name, tracker_param, run_id)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="run_vot.py", description=__doc__)
    parser.add_argument("tracker_name", help="folder in pytracking/tracker")
    parser.add_argument("tracker_param", help="file in pytracking/parameter/<tracker_name>")
    parser.add_argument("--network", help="network to run on (default: as in the parameters)")
    parser.add_argument("--conversion", choices=CONVERSIONS, help="polygons to boxes (default: as in the parameters)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per call after which its stack is logged")
    parser.add_argument("--run_id", type=int, help="ignored: the toolkit numbers its repetitions")
    return run_vot2020(**vars(parser.parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
