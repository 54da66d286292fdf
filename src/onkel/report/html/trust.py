"""How far the answers can be trusted: intervals, probabilities, confusion, residuals."""

from __future__ import annotations

import re

import numpy as np

from onkel.measure import Result
from onkel.measure.residuals import ResidualSummary
from onkel.report.html.chart import Chart, Line, figure
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, details, element, joined, table
from onkel.report.results import LEVEL, counted, written

SIDE, MARGIN = 340, 58  # of the picture of reliability
SHADES = 9


def intervals(contents: Contents) -> Section | None:
    result = contents.main
    if not result.coverage or result.rows == 1:
        return None
    rows = [[f"{float(level):.0%}", f"{share:.2%}", f"{share - float(level):+.2%}"] for level, share in result.coverage.items()]
    made = table("Coverage of the intervals over all rows", ["asked for", "held the label", "difference"], rows, numeric=(1, 2))
    intro = "Each answer comes with intervals, given before its label was learnt. One of 90% should hold nine labels in ten."
    residuals = None if result.observed is None else result.observed.residuals
    return Section(
        "intervals", "Intervals", joined([element("p", intro), made, *([] if residuals is None else _along(residuals, result))])
    )


def _along(found: ResidualSummary, result: Result) -> list[Html]:
    level = float(LEVEL)
    if level not in found.levels or not np.isfinite(found.within).any():
        return []
    k = found.levels.index(level)
    within, widths = found.within[:, k], found.widths[:, k]
    asked = np.full(len(within), level)
    there, rows = within[np.isfinite(within)], found.window_ends
    least = (
        f"In these windows, between {there.min():.1%} and {there.max():.1%} of the labels were inside their {level:.0%} interval."
    )
    lines = [Line("held the label", within, "own"), Line("asked for", asked, "mean")]
    held = Chart(
        "coverage", f"Share of labels inside their {level:.0%} interval", least, rows, "rows of the stream", "share in windows",
        lines, share=True, from_zero=False, ends=(min(0.5, float(there.min()) - 0.02), 1.0), height=240,
    )  # fmt: skip
    known = widths[np.isfinite(widths)]
    wide = f"The mean width goes from {written(float(known[0]))} to {written(float(known[-1]))}."
    width = Chart(
        "widths", f"Width of the {level:.0%} intervals", wide, rows, "rows of the stream", f"mean width (units of {result.target})",
        [Line("mean width", widths, "own")], height=220,
    )  # fmt: skip
    return [figure(held), figure(width)]


def probabilities(contents: Contents) -> Section | None:
    found = {name: one for name, one in contents.results.items() if one.reliability is not None and len(one.reliability.count)}
    result = contents.main
    if not found or result.rows == 1:
        return None
    of = f" of {result.classes[1]}" if len(result.classes) == 2 else ""
    each = "" if len(result.classes) == 2 else " Every row counts once for each class."
    intro = (
        f"Rows are grouped by the probability{of} that was predicted. Where points lie on the diagonal, it can be believed.{each}"
    )
    rows = [
        [*([name] if len(found) > 1 else []), f"{p:.1%}", f"{share:.1%}", f"{count:,}"]
        for name, one in found.items()
        if one.reliability is not None
        for p, share, count in zip(one.reliability.predicted, one.reliability.observed, one.reliability.count, strict=True)
    ]
    headings = [*(["learner"] if len(found) > 1 else []), "predicted", "observed", "rows"]
    made = table(
        "Predicted probabilities and observed shares", headings, rows, numeric=range(len(headings) - 3, len(headings)), cls="narrow"
    )
    errors = [
        [name, f"{one.reliability.calibration_error:.4f}", f"{one.reliability.log_loss:.4f}", f"{one.reliability.brier:.4f}"]
        for name, one in found.items()
        if one.reliability is not None
    ]
    scores = table(
        "How far off the probabilities are", ["learner", "calibration error", "log loss", "Brier score"], errors, (1, 2, 3)
    )
    picture = element(
        "div", _reliability(contents, found, of), made if len(found) == 1 else details("The values as a table", made), cls="beside"
    )
    return Section("probabilities", "Probabilities", joined([element("p", intro), picture, scores]))


def _reliability(contents: Contents, found: dict[str, Result], of: str) -> Html:
    inner = SIDE - MARGIN - 14

    def x(p: float) -> float:
        return MARGIN + p * inner

    def y(p: float) -> float:
        return 10 + (1.0 - p) * inner

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(element("line", x1=x(0), x2=x(1), y1=y(share), y2=y(share), cls="grid"))
        parts.append(element("text", f"{share:.0%}", x=x(0) - 7, y=y(share), dy="0.32em", cls="tick end"))
        parts.append(element("text", f"{share:.0%}", x=x(share), y=y(0) + 17, cls="tick middle"))
    parts.append(element("line", x1=x(0), x2=x(1), y1=y(0), y2=y(1), cls="mark"))
    parts.append(element("text", f"predicted probability{of}", x=x(1), y=y(0) + 34, cls="label end"))
    parts.append(
        element("text", "observed share", transform=f"translate(10 {y(0.5):.0f}) rotate(-90)", x=0, y=0, cls="label middle")
    )
    for name, one in found.items():
        assert one.reliability is not None
        role, count = contents.roles[name], one.reliability.count
        points = list(zip(one.reliability.predicted.tolist(), one.reliability.observed.tolist(), strict=True))
        parts.append(element("polyline", points=" ".join(f"{x(p):.1f},{y(s):.1f}" for p, s in points), cls=f"line-{role}"))
        for (p, s), rows in zip(points, count.tolist(), strict=True):
            size = 3.0 + 5.0 * float(np.sqrt(rows / count.max()))
            note = element("title", f"{name}: predicted {p:.1%}, observed {s:.1%}, {counted(rows, 'row')}")
            parts.append(
                element("circle", note, cx=f"{x(p):.1f}", cy=f"{y(s):.1f}", r=f"{size:.1f}", cls=f"fill-{role} see-through")
            )
    said = "; ".join(
        f"{name} is off by {one.reliability.calibration_error:.3g} on average"
        for name, one in found.items()
        if one.reliability is not None
    )
    svg = element(
        "svg", *parts, viewBox=f"0 0 {SIDE} {SIDE}", role="img", aria_label=f"Observed shares over predicted probabilities: {said}."
    )
    return element("figure", svg, element("figcaption", f"{said}. A larger point stands for more rows."), cls="square")


def confusion(contents: Contents) -> Section | None:
    result = contents.main
    if result.confusion is None or result.rows == 1:
        return None
    order = sorted(range(len(result.confusion)), key=lambda k: _natural(str(result.classes[k])))
    labels = [str(result.classes[k]) for k in order]
    rows = []
    for k, label in zip(order, labels, strict=True):
        counts = result.confusion[k]
        total = max(1, sum(counts))
        cells = [_shaded(counts[j], total, j == k, other) for j, other in zip(order, labels, strict=True)]
        rows.append([label, *cells, f"{sum(counts):,}", f"{counts[k] / total:.1%}"])
    caption = "Rows by class (down) and predicted class (across)"
    headings = ["rows of", *(f"as {label}" for label in labels), "all", "right"]
    intro = "A darker cell is a larger share of the rows of its class. The diagonal is what was predicted rightly."
    made = table(caption, headings, rows, numeric=range(1, len(headings)), cls="confusion")
    left_out = result.rows - sum(map(sum, result.confusion))
    note = [element("p", f"{counted(left_out, 'row')} came before any class was known.", cls="small")] if left_out > 0 else []
    return Section("confusion", "Confusion", joined([element("p", intro), made, *note]))


def _natural(label: str) -> list[tuple[int, float, str]]:
    """A key that sorts "class 10" after "class 9", and 1 after -1."""
    if re.fullmatch(r"[-+]?\d+(\.\d+)?", label):
        return [(0, float(label), "")]
    parts = re.split(r"([0-9]+)", label)
    return [(1, float(part), "") if part.isdecimal() else (2, 0.0, part) for part in parts]


def _shaded(count: int, total: int, is_own: bool, other: str) -> Html:
    shade = int(np.ceil(SHADES * count / total)) if count else 0
    return element(
        "span", f"{count:,}", cls=f"cell shade{shade}{' right' if is_own else ''}", title=f"{count / total:.1%} as {other}"
    )


def residuals(contents: Contents) -> Section | None:
    result = contents.main
    found = None if result.observed is None else result.observed.residuals
    if found is None or result.rows == 1:
        return None
    target = result.target
    largest = max(abs(float(np.nanmin(found.least))), abs(float(np.nanmax(found.largest))))
    low, high = written(float(found.means.min())), written(float(found.means.max()))
    said = f"The largest residual is {written(largest)}; the means of the bins lie between {low} and {high}."
    nothing = np.zeros(len(found.ends))
    lines = [
        Line("mean, with the smallest and the largest of each bin", found.means, "own", band=(found.least, found.largest)),
        Line("0", nothing, "mean"),
    ]
    along = Chart(
        "residuals-time", "Along the stream", said, found.ends, "rows of the stream", f"label − prediction (units of {target})",
        lines, from_zero=False, height=280,
    )  # fmt: skip
    intro = (
        "A residual is a label minus what was predicted for it. Where they lie to one side of 0, or spread with the prediction, "
        "something is left to learn."
    )
    observed = result.observed.rows if result.observed is not None else 0
    less = (
        f" Shown are the {observed:,} rows since the run was continued."
        if result.observed is not None and observed < result.rows
        else ""
    )
    return Section("residuals", "Residuals", joined([element("p", intro + less), figure(along), figure(_against(found, target))]))


def _against(found: ResidualSummary, target: str) -> Chart:
    order = np.argsort(found.predicted, kind="stable")
    apart = (found.actual - found.predicted)[order]
    is_extreme = (np.arange(len(order)) < found.extremes)[order]
    sampled = len(order) - found.extremes
    lines = [
        Line(f"a random sample ({sampled:,} rows)", np.where(is_extreme, np.nan, apart), "own", points=True),
        Line(f"the extremes of each bin ({found.extremes:,} rows)", np.where(is_extreme, apart, np.nan), "other1", points=True),
    ]
    if not sampled:
        lines = [Line("every row", apart, "own", points=True)]
    low, high = written(float(found.predicted.min())), written(float(found.predicted.max()))
    return Chart(
        "residuals-prediction", "Against the prediction", f"Predictions lie between {low} and {high}.", found.predicted[order],
        f"prediction ({target})", f"label − prediction (units of {target})", lines, from_zero=False, height=320,
        x_name="prediction",
    )  # fmt: skip
