"""Names and signatures of visionml/pytracking, backed by this project's implementations.

Code written for pytracking keeps its import paths (``pytracking.libs``, ``pytracking.utils.params``,
``pytracking.features.net_wrappers``, ...): small modules there re-export what is defined here. No other code of this
project uses this package. docs/pytracking_users.md lists what is unchanged, what changed and what is missing.
"""
