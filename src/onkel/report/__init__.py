"""A result as table, picture and HTML page.

Decisions: docs/decisions/report.md
"""

from onkel.report.plots import draw_components, draw_contributions, draw_curves, draw_reliability, draw_weights

__all__ = ["draw_components", "draw_contributions", "draw_curves", "draw_reliability", "draw_weights"]
