"""What people look at."""

from onkel.report.plots import draw_curves

__all__ = ["draw_curves"]
