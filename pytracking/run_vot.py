"""A tracker as a TraX server, the way the VOT toolkit starts it: ``python -m pytracking.run_vot TRACKER PARAMETER``."""
from __future__ import annotations

import argparse
import os
import sys

from pytracking.vot.regions import CONVERSIONS
from pytracking.vot.toolkit import REPETITIONS_VARIABLE, require_trax


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="run_vot.py", description=__doc__)
    parser.add_argument("tracker_name", help="folder in pytracking/tracker")
    parser.add_argument("tracker_param", help="file in pytracking/parameter/<tracker_name>")
    parser.add_argument("--network", help="network to run on (default: the one that the parameters name)")
    parser.add_argument("--conversion", choices=CONVERSIONS, help="polygons to boxes (default: the parameters say)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds in one call before its stack is logged")
    arguments = parser.parse_args(argv)
    require_trax()
    from pytracking.vot.server import serve

    def create():
        # Imported here, so that errors of the tracker's modules reach the client as well.
        from pytracking.vot.trackers import TrackerSpec

        return TrackerSpec(arguments.tracker_name, arguments.tracker_param, arguments.network).load()

    return serve(
        create,
        f"{arguments.tracker_name}:{arguments.tracker_param}",
        conversion=arguments.conversion,
        repetitions=[int(number) for number in os.environ.get(REPETITIONS_VARIABLE, "").split()],
        timeout=arguments.timeout,
    )


if __name__ == "__main__":
    sys.exit(main())
