"""Upstream pytracking's path to :mod:`pytracking.compat.plotting`."""
from pytracking.compat.plotting import draw_figure, overlay_mask, plot_graph, show_tensor  # noqa: F401
