"""Charts: lines, bands and points over a common x.

Each is a static picture (SVG), which is printed and needs no script; the data from which the page's script draws the interactive
one; a legend of switches; a sentence that says what is in it; and a table of its values. The titles of the axes, which may be long,
are text above and below the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Vector
from onkel.report.html.colours import DASHES
from onkel.report.html.markup import Html, details, element, embedded, joined, table
from onkel.report.html.ticks import ticks
from onkel.report.results import written

WIDTH = 720  # of a picture along the stream
RIGHT, TOP, BOTTOM = 24, 14, 28  # its margins
CHARACTER = 8  # the largest width of one of the numbers on its left
TABLE_ROWS = 16  # rows of the table of a chart along a stream
LARGEST = 8.0  # a line may be cut off above this many times the largest value of the learners' lines


@dataclass(frozen=True)
class Line:
    name: str
    y: NDArray[Any]  # NaN where there is no value
    role: str  # of the palette: its colour and dashes
    value: str = ""  # what stands beside its name
    leads: bool = True  # whether the axis must show all of it
    points: bool = False
    band: tuple[Vector, Vector] | None = None  # a band around the line, from the first to the second


@dataclass(frozen=True)
class Chart:
    ident: str
    title: str
    summary: str  # what a reader who does not see the picture should know
    x: NDArray[Any]  # increasing
    x_label: str
    y_label: str
    lines: Sequence[Line]
    share: bool = False  # whether y is a share, shown in per cent
    from_zero: bool = True
    ends: tuple[float, float] | None = None  # of the y axis
    marks: Sequence[tuple[float, str]] = ()  # dotted lines across, at x
    height: int = 300
    x_name: str = "row"  # of the values of x

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the y axis."""
        if self.ends is not None:
            return self.ends
        high = _range([line for line in self.lines if line.leads] or self.lines)[1]
        every = _range(self.lines)
        if self.from_zero:
            high = min(every[1], LARGEST * high) if high > 0.0 else every[1]
            return 0.0, 1.06 * high if high > 0.0 else 1.0
        room = 0.05 * (every[1] - every[0]) or max(1.0, abs(every[1])) * 0.05
        return every[0] - room, every[1] + room

    @property
    def said(self) -> str:
        """The summary, and which lines are cut off."""
        high = self.limits[1]
        above = [line.name for line in self.lines if np.max(np.nan_to_num(line.y), initial=0.0) > high]
        return f"{self.summary} Cut off above the chart: {', '.join(above)}." if above else self.summary


def _range(lines: Sequence[Line]) -> tuple[float, float]:
    parts = [part for line in lines for part in (line.y, *(line.band or ()))]
    values = np.concatenate([np.asarray(part, dtype=float) for part in parts]) if parts else np.empty(0)
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def figure(chart: Chart) -> Html:
    """The whole chart."""
    title = f"{chart.ident}-title"
    controls = element("div", legend(chart), element("p", "", cls="readout", aria_live="polite"), cls="controls")
    static = element("div", picture(chart), cls="static")
    return element(
        "figure",
        element("h3", chart.title, id=title),
        controls,
        element("p", chart.y_label, cls="axis"),
        element("div", static, cls="plot", data_chart=chart.ident),
        element("p", chart.x_label, cls="axis across"),
        element("figcaption", chart.said),
        details("The values as a table", values(chart)),
        embedded(f"{chart.ident}-data", data(chart)),
        cls="chart",
        aria_labelledby=title,
    )


def legend(chart: Chart) -> Html:
    """A switch for each line."""
    items = [
        element(
            "li",
            element(
                "button", swatch(line), element("span", line.name, cls="name"), element("span", line.value, cls="value"),
                type="button", aria_pressed="true", data_line=str(k),
            ),
        )
        for k, line in enumerate(chart.lines)
    ]  # fmt: skip
    return element("ul", *items, cls="legend", aria_label="Lines of the chart")


def swatch(line: Line) -> Html:
    if line.points:
        mark = element("circle", cx=11, cy=6, r=4, cls=f"fill-{line.role}")
    else:
        mark = element("line", x1=0, x2=22, y1=6, y2=6, cls=f"line-{line.role}")
    return element("svg", mark, viewBox="0 0 22 12", width=22, height=12, aria_hidden="true")


def data(chart: Chart) -> dict[str, Any]:
    """What the script needs."""
    low, high = chart.limits
    return {
        "x": np.asarray(chart.x, dtype=float).tolist(),
        "lines": [
            {
                "name": line.name,
                "role": line.role,
                "dash": list(DASHES.get(line.role, ())),
                "points": line.points,
                "y": np.asarray(line.y, dtype=float).tolist(),
                **({} if line.band is None else {"low": line.band[0].tolist(), "high": line.band[1].tolist()}),
            }
            for line in chart.lines
        ],
        "xName": chart.x_name,
        "share": chart.share,
        "low": low,
        "high": high,
        "fixed": chart.ends is not None,
        "fromZero": chart.from_zero,
        "marks": [[float(at), said] for at, said in chart.marks],
        "height": chart.height,
        "title": chart.title,
    }


def values(chart: Chart) -> Html:
    """A table of some values, evenly spaced, with the last."""
    shown = np.unique(np.linspace(0, len(chart.x) - 1, TABLE_ROWS).round().astype(int)) if len(chart.x) else np.empty(0, int)
    headings = [chart.x_label]
    for line in chart.lines:
        headings += [line.name] if line.band is None else [line.name, "smallest", "largest"]
    rows = [
        [
            written(float(chart.x[k])),
            *(_cell(float(part[k]), chart.share) for line in chart.lines for part in (line.y, *(line.band or ()))),
        ]
        for k in shown
    ]
    caption = f"{chart.title}: {chart.y_label}"
    return table(caption, headings, rows, numeric=range(len(headings)), cls="values")


def _cell(value: float, share: bool) -> str:
    return written(value, share) if np.isfinite(value) else "–"


def picture(chart: Chart, width: int = WIDTH, name: str = "") -> Html:
    """The static picture."""
    height = chart.height
    low, high = chart.limits
    first, last = (float(chart.x[0]), float(chart.x[-1])) if len(chart.x) else (0.0, 1.0)
    if last <= first:
        first, last = first - 0.5, last + 0.5
    left = 12 + CHARACTER * max(len(written(value, chart.share)) for value in ticks(low, high, _steps(chart)))
    box = (left, TOP, width - RIGHT, height - BOTTOM)

    def across(x: Any) -> NDArray[np.float64]:
        return np.asarray(box[0] + (np.asarray(x, dtype=float) - first) / (last - first) * (box[2] - box[0]))

    def up(y: Any) -> NDArray[np.float64]:
        shares = (np.asarray(y, dtype=float) - low) / (high - low)
        return np.asarray(box[3] - np.clip(shares, -0.02, 1.02) * (box[3] - box[1]))

    parts = [*_grid(chart, box, (first, last), (low, high), across, up)]
    for at, said in chart.marks:
        x = f"{float(across(at)):.1f}"
        parts.append(element("line", x1=x, x2=x, y1=box[1], y2=box[3], cls="mark"))
        parts.append(element("text", said, x=f"{float(across(at)) + 4:.1f}", y=box[1] + 10, cls="note"))
    parts += [_drawn(line, across(chart.x), up) for line in reversed(chart.lines)]
    return element("svg", *parts, viewBox=f"0 0 {width} {height}", role="img", aria_label=name or f"{chart.title}. {chart.said}")


def _grid(
    chart: Chart, box: tuple[int, int, int, int], xs: tuple[float, float], ys: tuple[float, float], across: Any, up: Any
) -> list[Html]:  # fmt: skip
    parts = []
    for value in ticks(*ys, _steps(chart)):
        y = f"{float(up(value)):.1f}"
        parts.append(element("line", x1=box[0], x2=box[2], y1=y, y2=y, cls="zero" if value == 0.0 else "grid"))
        parts.append(element("text", written(value, chart.share), x=box[0] - 8, y=y, dy="0.32em", cls="tick end"))
    along = [(value, f"{float(across(value)):.1f}") for value in ticks(*xs, about=6)]
    parts += [element("text", written(value), x=x, y=box[3] + 18, cls="tick middle") for value, x in along]
    return parts


def _steps(chart: Chart) -> int:
    """About how many numbers stand on its left."""
    return max(2, chart.height // 60)


def _drawn(line: Line, x: NDArray[np.float64], up: Any) -> Html:
    y, there = up(line.y), np.isfinite(np.asarray(line.y, dtype=float))
    if line.points:
        dots = [f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[there], y[there], strict=True)]
        return element("path", d="".join(dots), cls=f"dots dots-{line.role}")
    made = [element("path", d=path(x, y, there), cls=f"line-{line.role}")]
    if line.band is not None:
        low, high = up(line.band[0]), up(line.band[1])
        round_ = [*zip(x, high, strict=True), *zip(x[::-1], low[::-1], strict=True)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in round_ if np.isfinite(b))
        made.insert(0, element("polygon", points=points, cls=f"band-{line.role}"))
    if there.sum() == 1:  # a line through a single point cannot be seen
        k = int(np.argmax(there))
        made.append(element("circle", cx=f"{x[k]:.1f}", cy=f"{y[k]:.1f}", r=3, cls=f"fill-{line.role}"))
    return joined(made)


def path(x: NDArray[np.float64], y: NDArray[np.float64], there: NDArray[np.bool_]) -> str:
    """The d of a path through the points that are there."""
    parts, draws = [], False
    for a, b, is_there in zip(x, y, there, strict=True):
        if is_there:
            parts.append(f"{'L' if draws else 'M'}{a:.1f} {b:.1f}")
        draws = bool(is_there)
    return "".join(parts)
