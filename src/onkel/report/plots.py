"""Learning curves: the error over the last rows, as the stream goes by, one line a learner."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from onkel.measure import Trace

# Okabe & Ito's colours: told apart by colour-blind readers, and in grey by their order of lightness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
POINTS = 1500  # a line has at most about so many


def draw_curves(
    path: str | os.PathLike[str],
    traces: Mapping[str, Trace],
    metric: str,
    window: int,
    title: str,
    marks: Sequence[tuple[int, str]] = (),
) -> Path:
    """Write a picture of the windowed metric of each trace; `marks` are (row, text) drawn as dotted lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.0), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    top = 0.0
    for colour, (name, trace) in zip(COLOURS * len(traces), traces.items(), strict=False):
        values = trace.windowed(metric, window)
        shown = np.unique(np.linspace(0, trace.rows - 1, POINTS).astype(int))
        axes.plot(shown + 1, values[shown], color=colour, linewidth=1.6, label=f"{name}: {trace.mean(metric):.3g} over all rows")
        top = max(top, float(np.quantile(values, 0.99)))
    for row, text in marks:
        axes.axvline(row, color="0.5", linewidth=1.0, linestyle=":")
        axes.text(row, 0.99, f" {text}", transform=axes.get_xaxis_transform(), va="top", color="0.3")
    axes.set_ylim(0.0, 1.12 * top)
    axes.set_xlim(0, max((trace.rows for trace in traces.values()), default=1))
    axes.set_xlabel("rows of the stream")
    axes.set_ylabel(f"{metric}, mean of the last {window:,} rows")
    axes.set_title(title, loc="left")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside lower center", ncols=min(3, len(traces)))
    figure.savefig(path)
    return Path(path)
