"""What people look at."""

from onkel.report.plots import draw_components, draw_curves, draw_reliability

__all__ = ["draw_components", "draw_curves", "draw_reliability"]
