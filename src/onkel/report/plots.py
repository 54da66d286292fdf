"""Pictures.

draw_curves, draw_result    learning curves, one line per learner
draw_components             the curves of an additive model, one panel per input
draw_reliability            how reliable probabilities are
draw_weights                the shares of the experts in a mixture, over time
draw_contributions          what each kind of expert adds to a mixture, over time
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from onkel._extras import extra
from onkel._types import Matrix, Vector
from onkel._writing import replacing
from onkel.errors import InputError
from onkel.measure import Components, Explanation, Reliability, Result
from onkel.measure.components import Curve
from onkel.measure.explain import History
from onkel.measure.row_losses import windowed
from onkel.report.palette import COLOURS, GREYS
from onkel.report.results import SHARES, counted, number, short

LARGEST_BASELINE = 4.0  # an error more than this many times the learner's is cut off
POINTS = 1500  # the largest number of points of a line
FEW_VALUES = 12  # a column with at most this many different values is drawn as categories
BINS = 40  # bins of the histogram of rows along an axis


def draw_curves(
    path: str | os.PathLike[str],
    losses: Mapping[str, Vector],
    metric: str,
    window: int,
    title: str,
    marks: Sequence[tuple[int, str]] = (),
    reliabilities: Mapping[str, Reliability] | None = None,
) -> Path:
    """Write a picture of each learner's windowed losses in one metric.

    `marks` are pairs (row, text), drawn as dotted lines. If `reliabilities` is given, a panel on the right shows how reliable the
    probabilities of each learner are.
    """
    figure, axes = _stream_figure(title, reliabilities or {})
    for colour, (name, rows) in zip(COLOURS * len(losses), losses.items(), strict=False):
        shown = np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(int))
        label = f"{name}: {rows.mean():.3g} over all rows"
        axes.plot(shown + 1, windowed(rows, window)[shown], color=colour, linewidth=1.6, label=label)
    top = max((_top(windowed(rows, window)) for rows in losses.values()), default=0.0)
    _frame(axes, f"{metric}, mean of the last {window:,} rows", top, max(map(len, losses.values()), default=1))
    _mark(axes, marks)
    return _with_legend(figure, path, len(losses) + len(reliabilities or ()))


def draw_result(path: str | os.PathLike[str], result: Result) -> Path:
    """Write a picture of the error along the stream, with the errors of the baselines and the places where the stream changed. For
    classes, a second panel shows how reliable the probabilities are."""
    curve, metric = result.curve, result.curve.metric
    of_two = f" of {result.classes[1]}" if len(result.classes) == 2 else ""
    believed = {} if result.reliability is None else {f"probabilities{of_two}": result.reliability}
    figure, axes = _stream_figure(f"{short(result.source)}: {result.target}", believed)
    own = curve.values[metric.name]
    lines = {
        result.name: (result.errors, own),
        **{f"the {name}": (result.baselines[name], curve.baselines[name]) for name in curve.baselines},
    }
    for order, (name, (errors, values)) in enumerate(lines.items()):
        look = {"color": (COLOURS[0], *GREYS)[order], "linewidth": (1.8, 1.0, 1.0)[order], "zorder": 3 - 0.1 * order}
        axes.plot(curve.ends, values, label=f"{name}: {number(metric.name, errors[metric.name])}", **look)
    top = min(max(map(_top, curve.baselines.values())), LARGEST_BASELINE * _top(own))
    _frame(axes, f"{metric.title} in windows of {counted(int(curve.rows.max()), 'row')}", max(top, _top(own)), int(curve.ends[-1]))
    if metric.name in SHARES:
        axes.yaxis.set_major_formatter("{x:.0%}")
    _mark(axes, [(change.row, "" if k else "changed") for k, change in enumerate(result.changes)])
    return _with_legend(figure, path, 1 + len(GREYS) + len(believed))


def _stream_figure(title: str, reliabilities: Mapping[str, Reliability]) -> tuple[Any, Any]:
    """A figure with axes along the stream and, if there are any, panels of reliabilities below."""
    figure = _figure(9.0, 8.5 if reliabilities else 5.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 4)) if reliabilities else figure.add_gridspec(1, 1)
    axes = figure.add_subplot(grid[0, :])
    axes.set_title(title, loc="left")
    if reliabilities:
        left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
        left.set_title("how reliable the probabilities are", loc="left")
        left.set_xlabel("predicted probability")
        _draw_reliability(left, right, reliabilities)
    return figure, axes


def _top(values: Vector) -> float:
    """The largest value, not counting the largest hundredth of the values."""
    return float(np.quantile(values, 0.99))


def _frame(axes: Any, label: str, top: float, rows: int) -> None:
    axes.set_ylim(0.0, 1.12 * top or 1.0)
    axes.set_xlim(0, rows)
    axes.set_xlabel("rows of the stream")
    axes.set_ylabel(label)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)


def _mark(axes: Any, marks: Sequence[tuple[int, str]]) -> None:
    """Dotted lines at these rows."""
    for row, text in marks:
        axes.axvline(row, color="0.5", linewidth=1.0, linestyle=":")
        axes.text(row, 0.99, f" {text}", transform=axes.get_xaxis_transform(), va="top", color="0.3")


def _with_legend(figure: Any, path: str | os.PathLike[str], entries: int) -> Path:
    figure.legend(frameon=False, loc="outside lower center", ncols=min(3, entries))
    return _saved(figure, path)


def draw_components(
    path: str | os.PathLike[str], parts: Components, X: Matrix | None = None, output: str = "", title: str = "", columns: int = 3
) -> Path:
    """Write a picture of all curves, on one scale. If rows X are given, a histogram under each curve shows where they lie.

    `output` names what f predicts, with its unit. The names of the inputs are printed under their axes. With X, an axis covers the
    middle 99 % of the rows, and an input with few different values has a dot for each value.
    """
    columns = min(columns, len(parts.curves))
    lines = -(-len(parts.curves) // columns)
    figure = _figure(8.0, 0.7 + 2.3 * lines, dpi=100)  # 800 pixels wide
    shown = [_shown(curve, None if X is None or c >= X.shape[1] else X[:, c]) for c, curve in enumerate(parts.curves)]
    low = min((float(curve.y.min()) for curve, _ in shown), default=0.0)
    high = max((float(curve.y.max()) for curve, _ in shown), default=1.0)
    margin = 0.08 * (high - low) or 1.0
    floor = low - (0.25 * (high - low) if X is not None else 0.0) - margin  # the histogram is below all curves
    for c, (curve, column) in enumerate(shown):
        axes = figure.add_subplot(lines, columns, c + 1)
        axes.axhline(0.0, color="0.8", linewidth=0.8)
        axes.set_xlim(float(curve.x[0]), float(curve.x[-1]))
        axes.set_ylim(floor, high + margin)
        axes.locator_params(axis="x", nbins=4, steps=[1, 2, 5, 10])
        axes.xaxis.set_major_formatter(_tick)
        _draw_curve(axes, curve, column, (floor, low - margin))
        axes.set_xlabel(curve.name)
        axes.tick_params(labelleft=c % columns == 0)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supylabel(f"effect on {output}" if output else "effect", fontsize="medium")
    grey = "" if X is None else "grey: how many rows lie there, in the middle 99 % of them"
    figure.suptitle("\n".join(filter(None, (title, grey))), ha="left", x=0.02, fontsize="medium")
    return _saved(figure, path)


def draw_reliability(path: str | os.PathLike[str], reliabilities: Mapping[str, Reliability], title: str = "") -> Path:
    """Write a picture of observed shares over predicted probabilities, one line per learner; below, the rows in each bin."""
    figure = _figure(6.0, 6.5)
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    axes.set_title(title, loc="left")
    _draw_reliability(axes, below, reliabilities)
    figure.legend(frameon=False, loc="outside lower center")
    return _saved(figure, path)


def _draw_reliability(axes: Any, below: Any, reliabilities: Mapping[str, Reliability]) -> None:
    axes.plot([0.0, 1.0], [0.0, 1.0], color="0.7", linewidth=1.0, linestyle=":")
    for colour, (name, one) in zip(COLOURS * len(reliabilities), reliabilities.items(), strict=False):
        label = f"{name}: log loss {one.log_loss:.3g}, off by {one.calibration_error:.2g}"
        axes.plot(one.predicted, one.observed, "o-", color=colour, linewidth=1.6, markersize=4, label=label)
        below.plot(one.predicted, one.count, "o-", color=colour, linewidth=1.0, markersize=3)
    axes.set_ylabel("observed share of the class")
    axes.set_ylim(-0.02, 1.02)
    below.set_xlabel("predicted probability")
    below.set_ylabel("rows")
    below.set_yscale("log")
    below.yaxis.set_major_formatter("{x:,.0f}")
    below.yaxis.set_minor_formatter("")
    for panel in (axes, below):
        panel.grid(color="0.92")
        panel.spines[["top", "right"]].set_visible(False)


def _shown(curve: Curve, column: Vector | None) -> tuple[Curve, Vector]:
    """The part of the curve that covers nearly all rows (all of it if there are no rows), and the rows in that part."""
    if column is None or not len(column):
        return curve, np.empty(0)
    few = len(np.unique(column)) <= FEW_VALUES
    low, high = np.quantile(column, (0.0, 1.0) if few else (0.005, 0.995))
    low, high = max(low, curve.x[0]), min(high, curve.x[-1])
    if not low < high:
        return curve, column
    x = np.unique(np.concatenate([[low], curve.x[(curve.x > low) & (curve.x < high)], [high]]))
    return replace(curve, x=x, y=np.interp(x, curve.x, curve.y)), column[(column >= low) & (column <= high)]


def _draw_curve(axes: Any, curve: Curve, column: Vector, band: tuple[float, float]) -> None:
    """Draw a line, or dots if there are few values; below, in `band`, a grey histogram of the rows."""
    values, counts = np.unique(column, return_counts=True)
    width = 0.8 * float(np.min(np.diff(values), initial=0.1 * np.ptp(curve.x)))
    few = 1 < len(values) <= FEW_VALUES
    axes.plot(curve.x, curve.y, color=COLOURS[0], linewidth=0.9 if few else 1.8, linestyle=":" if few else "-")
    if few:
        axes.plot(values, np.interp(values, curve.x, curve.y), "o", color=COLOURS[0], markersize=5)
        axes.set_xlim(values[0] - width, values[-1] + width)
        axes.set_xticks(values[:: 1 + len(values) // 8])
    elif len(values) > BINS:
        counts, edges = np.histogram(column, bins=BINS, range=(float(curve.x[0]), float(curve.x[-1])))
        values, width = 0.5 * (edges[1:] + edges[:-1]), float(edges[1] - edges[0])
    heights = (band[1] - band[0]) * counts / np.max(counts, initial=1)
    axes.bar(values, heights, width, band[0], color="0.82", linewidth=0)


def _tick(value: float, position: float) -> str:
    """The label of a tick: 5,000 or −122 or 0.5."""
    return f"{value:,.10g}".replace("-", "−")


def draw_weights(path: str | os.PathLike[str], explanation: Explanation, title: str = "Shares of the experts, over time") -> Path:
    """Write a picture of the share of each kind of expert along the stream: the sum of its absolute weights, relative to all."""
    history = _history(explanation)
    size = np.abs(history.weights)
    shares = _of_kinds(explanation, size / size.sum(axis=1, keepdims=True))
    figure = _figure(9.0, 5.0)
    axes = _along(figure, history, title)
    axes.stackplot(history.rows, shares.values(), labels=shares, colors=_colours(shares), alpha=0.85)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("share of the weights, by size")
    axes.yaxis.set_major_formatter("{x:.0%}")
    figure.legend(frameon=False, loc="outside lower center", ncols=4)
    return _saved(figure, path)


def draw_contributions(
    path: str | os.PathLike[str], explanation: Explanation, output: int = 0, title: str = "What each kind of expert contributed"
) -> Path:
    """Write a picture of what each kind of expert added to the mixture along the stream: its weights times its scores.

    Negative contributions are drawn below 0. Mixture and labels are drawn as lines. All values are means over the rows since the
    previous snapshot. With several classes, `output` is the index of the class to draw.
    """
    from matplotlib.patheffects import withStroke

    history = _history(explanation)
    outputs = history.labels.shape[1]
    if not 0 <= output < outputs:
        raise InputError(f"output must be one of the {outputs} outputs, 0 to {outputs - 1}, got {output}")
    parts = _of_kinds(explanation, history.contributions[:, output])
    figure = _figure(9.0, 5.0)
    axes = _along(figure, history, title)
    for sign, labels in ((1.0, parts), (-1.0, ())):
        stack = [sign * np.maximum(sign * part, 0.0) for part in parts.values()]
        axes.stackplot(history.rows, stack, labels=labels, colors=_colours(parts), alpha=0.6)
    rim = [withStroke(linewidth=4.0, foreground="white")]  # so that a black line is visible on a black area
    for name, values, style in (("mixture", history.mixture, "-"), ("label", history.labels, ":")):
        axes.plot(history.rows, values[:, output], color="black", linewidth=1.6, linestyle=style, label=name, path_effects=rim)
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set_ylabel("weight × score, mean since the previous snapshot")
    figure.legend(frameon=False, loc="outside lower center", ncols=4)
    return _saved(figure, path)


def _history(explanation: Explanation) -> History:
    if explanation.history is None or not len(explanation.history.rows):
        raise InputError("there is nothing to draw: only Auto keeps a history, and only after its first few hundred rows")
    return explanation.history


def _of_kinds(explanation: Explanation, values: Matrix) -> dict[str, Vector]:
    """The sum over the experts of each kind, for every snapshot."""
    kinds = dict.fromkeys(expert.kind for expert in explanation.experts)
    return {kind: values[:, [expert.kind == kind for expert in explanation.experts]].sum(axis=1) for kind in kinds}


def _colours(names: Collection[str]) -> tuple[str, ...]:
    return (COLOURS * len(names))[: len(names)]


def _along(figure: Any, history: History, title: str) -> Any:
    """Axes with the rows of the stream along x."""
    axes = figure.add_subplot()
    if len(history.rows) > 1:
        axes.set_xlim(history.rows[0], history.rows[-1])
    axes.set_xlabel("rows of the stream")
    axes.set_title(title, loc="left")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    return axes


def check_drawing() -> None:
    """Refuse, before any work is done, to draw without matplotlib."""
    with extra("plot", "drawing a picture"):
        import matplotlib  # noqa: F401


def _figure(width: float, height: float, dpi: int = 110) -> Any:
    check_drawing()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _saved(figure: Any, path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:] or None)
    return path
