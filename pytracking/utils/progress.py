"""Progress bars for terminals and log files."""
import sys
from typing import Any

from tqdm import tqdm


def progress_bar(*args: Any, **options: Any) -> tqdm:
    """A tqdm bar; outside a terminal it updates every ten seconds instead of several times per second."""
    interval = 0.2 if sys.stderr.isatty() else 10.0
    return tqdm(*args, **{"dynamic_ncols": True, "mininterval": interval, **options})
