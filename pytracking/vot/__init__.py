"""VOT: a TraX server for any tracker, workspaces for the official toolkit, runs and reports.

The toolkit (``vot-toolkit``, GPL-3) is an optional library, installed by the extra ``vot``. Only ``inprocess``,
``execution``, ``running`` and ``report`` import it at the top, and ``server`` imports ``trax``; the rest works without.
"""
import sys
from pathlib import Path

# A script in pytracking/ puts its folder first on the search path, where this package would pass for the toolkit, which
# is called `vot` as well. Nothing is meant to be imported from that folder directly.
_SCRIPT_FOLDER = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != _SCRIPT_FOLDER]
