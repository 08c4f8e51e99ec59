"""Names and signatures of visionml/pytracking, on this project's implementations.

Code written for pytracking imports them from pytracking's own places (``pytracking.libs``, ``pytracking.utils.params``,
``pytracking.features.net_wrappers``, ...), where small modules fetch them from here. Nothing else of this project uses
this package. docs/pytracking_users.md lists what is the same, what changed and what is not here.
"""
