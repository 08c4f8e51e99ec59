"""VOT: a TraX server for any tracker, workspaces for the official toolkit, runs and reports.

The toolkit (``vot-toolkit``, GPL-3) is an optional library, installed by the extra ``vot``. Only ``inprocess``,
``execution``, ``running`` and ``report`` import it at the top, and ``server`` imports ``trax``; the rest works without.
"""
