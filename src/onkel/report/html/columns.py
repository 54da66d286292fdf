"""What the columns say: their importance, and the curves that were learnt."""

from __future__ import annotations

import math

import numpy as np

from onkel._types import Vector
from onkel.measure.effects import Effect
from onkel.measure.importance import BLOCK, Importance
from onkel.report.html.bars import bar
from onkel.report.html.chart import path
from onkel.report.html.colours import role
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, details, element, joined, table, text
from onkel.report.html.ticks import shown, ticks, written
from onkel.report.results import SHARES

SHOWN = 25  # columns in the table; more are in its details
CURVES = 9
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 280, 190, 46, 10, 10, 30
LONGEST = 14  # characters of a string on an axis


def said_by_columns(contents: Contents) -> Section | None:
    parts = []
    if isinstance(contents.importance, Importance):
        parts.append(_importance(contents, contents.importance))
    if contents.effects:
        parts.append(_curves(contents))
    return Section("columns", "What the columns say", joined(parts)) if parts else None


def _importance(contents: Contents, found: Importance) -> Html:
    metric = contents.metric
    share = metric.name in SHARES
    own = f"{metric.title} {shown(metric.name, found.error)}"
    intro = (
        f"How much worse the answers become ({metric.title}), on the first {found.rows:,} rows. Exchanged: a new model learns "
        f"{found.learnt:,} rows; the next {found.scored:,} are answered before they are learnt, {BLOCK} at a time, as they are "
        f"({own}) and with the values of one column exchanged at random among them. These answers use no earlier labels."
    )
    if found.without:
        whole = f"{metric.title} with all columns {shown(metric.name, found.whole)}"
        intro += f" Left out: a new model learns the first {found.rows:,} rows again without the column ({whole})."
    if not found.in_time:
        intro += f" The time limit of {found.seconds:g} s ended this before every column was measured."
    rises = {name: (found.permuted[name] - found.error, found.without.get(name, math.nan) - found.whole) for name in found.names}
    largest = max((rise for both in rises.values() for rise in both if math.isfinite(rise)), default=1.0)
    has_without = bool(found.without)
    headings = ["column", "exchanged: rise", "", *(["left out: rise", ""] if has_without else [])]

    def cells(name: str) -> list[str]:
        made: list[str] = [name]
        for rise in rises[name][: 1 + has_without]:
            made += [_rise(rise, share), bar([rise], largest) if math.isfinite(rise) else Html("")]
        return made

    rows = [cells(name) for name in found.names]
    caption = f"Importance of the columns: rise of the {metric.title}"
    first = table(caption, headings, rows[:SHOWN], numeric=(1, 3), cls="importance")
    more = [
        details(
            f"{len(rows) - SHOWN} more columns",
            table(f"{caption}, continued", headings, rows[SHOWN:], numeric=(1, 3), cls="importance"),
        )
    ]
    return joined([element("h3", "Importance"), element("p", intro), first, *(more if len(rows) > SHOWN else [])])


def _rise(rise: float, share: bool) -> str:
    if not math.isfinite(rise):
        return "–"
    if share:
        return f"{100.0 * rise:+.2f} points"
    return f"{rise:+.3g}" if rise else "0"


def _curves(contents: Contents) -> Html:
    found, result = contents.effects[:CURVES], contents.main
    of_classes = found[0].outputs != ("",)
    many = of_classes and len(found[0].outputs) > 1
    what = f"probability of {'the classes' if many else found[0].outputs[0]}" if of_classes else result.target
    intro = (
        f"The mean answer ({what}) for {found[0].rows:,} rows, if one column of all of them had this value and the others were as "
        "they are; from the model after its last row. All panels have the same scale."
    )
    low, high = _limits(found)
    panels = [_panel(effect, low, high, of_classes) for effect in found]
    key = _key(found[0].outputs) if many else text("")
    listed = [
        [effect.name, _value(value), *(written(float(mean), of_classes) for mean in means)]
        for effect in found
        for value, means in zip(effect.values, effect.means, strict=True)
    ]
    headings = ["column", "value", *(found[0].outputs if of_classes else ["mean answer"])]
    values = details(
        "The curves as a table", table("Mean answer for values of each column", headings, listed, range(2, len(headings)), "values")
    )
    return joined([element("h3", "Learnt curves"), element("p", intro), key, element("div", *panels, cls="panels"), values])


def _limits(found: tuple[Effect, ...]) -> tuple[float, float]:
    values = np.concatenate([effect.means.ravel() for effect in found])
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def _key(outputs: tuple[str, ...]) -> Html:
    items = []
    for k, name in enumerate(outputs):
        mark = element(
            "svg",
            element("line", x1=0, x2=22, y1=6, y2=6, cls=f"line-{role(k)}"),
            viewBox="0 0 22 12",
            width=22,
            height=12,
            aria_hidden="true",
        )
        items.append(element("li", mark, element("span", name, cls="name")))
    return element("ul", *items, cls="key")


def _value(value: object) -> str:
    return written(value) if isinstance(value, float) else str(value)


def _panel(effect: Effect, low: float, high: float, share: bool) -> Html:
    """One column: a line over numbers, dots beside strings."""
    is_number = isinstance(effect.values[0], float)
    box = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    at = np.array(effect.values if is_number else np.arange(len(effect.values)), dtype=float)
    first, last = float(at[0]), float(at[-1])
    room = 0.0 if is_number else 0.5
    x = box[0] + (at - first + room) / (last - first + 2.0 * room) * (box[2] - box[0])

    def up(y: float) -> float:
        return box[3] - (y - low) / (high - low) * (box[3] - box[1])

    parts = []
    for value in ticks(low, high, about=4):
        at_value = f"{up(value):.1f}"
        parts.append(element("line", x1=box[0], x2=box[2], y1=at_value, y2=at_value, cls="grid"))
        parts.append(element("text", written(value, share), x=box[0] - 6, y=at_value, dy="0.32em", cls="tick end"))
    parts += _below(effect, x, box, (first, last), is_number)
    for k in range(len(effect.outputs)):
        y = np.array([up(float(mean)) for mean in effect.means[:, k]])
        if is_number and len(x) > 12:
            parts.append(element("path", d=path(x, y, np.isfinite(y)), cls=f"line-{role(k)}"))
        else:
            if is_number:
                parts.append(element("path", d=path(x, y, np.isfinite(y)), cls=f"line-{role(k)} thin"))
            dots = zip(x, y, strict=True)
            parts += [element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3.5, cls=f"fill-{role(k)}") for a, b in dots]
    ends = [f"{written(float(effect.means[k, 0]), share)} at {_value(effect.values[k])}" for k in (0, -1)]
    said = f"{effect.name}: from {ends[0]} to {ends[1]}"
    svg = element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=said)
    return element("figure", element("figcaption", effect.name), svg, cls="panel")


def _below(effect: Effect, x: Vector, box: tuple[int, int, int, int], ends: tuple[float, float], is_number: bool) -> list[Html]:
    """What stands below the x axis."""
    if is_number:
        found = ticks(*ends, about=4)
        places = [box[0] + (value - ends[0]) / (ends[1] - ends[0]) * (box[2] - box[0]) for value in found]
        return [
            element("text", written(value), x=f"{a:.1f}", y=box[3] + 18, cls="tick middle")
            for value, a in zip(found, places, strict=True)
        ]
    room = max(2, int((box[2] - box[0]) / len(x) / 6.5))
    names = [str(value) for value in effect.values]
    shown = [name if len(name) <= min(room, LONGEST) else name[: max(1, min(room, LONGEST) - 1)] + "…" for name in names]
    return [element("text", name, x=f"{a:.1f}", y=box[3] + 18, cls="tick middle") for name, a in zip(shown, x, strict=True)]
