"""VOT: a TraX server for any tracker, workspaces for the official toolkit, runs and reports.

The toolkit (``vot-toolkit``, GPL-3) is an optional library, installed by the extra ``vot``. Only ``toolkit``,
``inprocess``, ``running`` and ``report`` import it, and ``server`` imports ``trax``; the rest works without.
"""
