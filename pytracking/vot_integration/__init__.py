"""VOT: a TraX server for any tracker, and workspaces, runs and reports of the official toolkit.

The toolkit (``vot-toolkit``, GPL-3) is optional and installed by the extra ``vot``. Only ``inprocess``, ``execution``,
``running`` and ``report`` import it at the top, and ``server`` imports ``trax``; the other modules work without it.
"""
