"""Pictures: learning curves, one line a learner; and the curves of an additive model, one panel an input."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from onkel._types import Matrix
from onkel.measure import Components, Trace

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


def draw_components(
    path: str | os.PathLike[str], parts: Components, X: Matrix | None = None, output: str = "", title: str = "", columns: int = 3
) -> Path:
    """Write a picture of every curve, all to one scale; under each, where the rows X lie, if they are given.

    `output` names what f predicts, with its unit. The names of the inputs stand under their axes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(columns, len(parts.curves))
    lines = -(-len(parts.curves) // columns)
    figure = Figure(figsize=(8.0, 0.7 + 2.3 * lines), dpi=100, layout="constrained")  # 800 pixels wide
    FigureCanvasAgg(figure)
    low = min((float(curve.y.min()) for curve in parts.curves), default=0.0)
    high = max((float(curve.y.max()) for curve in parts.curves), default=1.0)
    margin = 0.08 * (high - low) or 1.0
    floor = low - (0.25 * (high - low) if X is not None else 0.0) - margin  # the density stands below all curves
    for c, curve in enumerate(parts.curves):
        axes = figure.add_subplot(lines, columns, c + 1)
        axes.axhline(0.0, color="0.8", linewidth=0.8)
        axes.plot(curve.x, curve.y, color=COLOURS[0], linewidth=1.8)
        if X is not None and c < X.shape[1]:
            counts, edges = np.histogram(X[:, c], bins=40, range=(float(curve.x[0]), float(curve.x[-1])))
            heights = floor + (low - margin - floor) * counts / max(counts.max(), 1)
            axes.fill_between(np.repeat(edges, 2)[1:-1], floor, np.repeat(heights, 2), color="0.82", linewidth=0)
        axes.set_xlim(float(curve.x[0]), float(curve.x[-1]))
        axes.set_ylim(floor, high + margin)
        axes.set_xlabel(curve.name)
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", nbins=4)
    figure.supylabel(f"effect on {output}" if output else "effect", fontsize="medium")
    figure.suptitle(title or "grey: how many rows lie there", ha="left", x=0.02, fontsize="medium")
    figure.savefig(path)
    return Path(path)
