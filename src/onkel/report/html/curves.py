"""The curves that were learnt: a small panel for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.measure.effects import Effect
from onkel.report.html.chart import path
from onkel.report.html.colours import role
from onkel.report.html.contents import Contents
from onkel.report.html.markup import Html, details, element, joined, table, text
from onkel.report.html.ticks import ticks
from onkel.report.results import written

CURVES = 9
WIDTH, HEIGHT, RIGHT, TOP, BOTTOM = 280, 190, 10, 10, 30
CHARACTER = 6.6  # the width of one below and beside a panel
LONGEST = 14  # characters of a string on an axis
BLANK = "blank"  # what stands below the answer for a missing value
ROOM_FOR_BLANK = 48


def curves(contents: Contents) -> Html:
    found, result = contents.effects[:CURVES], contents.main
    of_classes = found[0].outputs != ("",)
    many = of_classes and len(found[0].outputs) > 1
    what = f"probability of {'the classes' if many else found[0].outputs[0]}" if of_classes else result.target
    intro = (
        f"The mean answer ({what}) for {found[0].rows:,} rows, if one column of all of them had this value and the others were as "
        "they are; from the model after its last row. All panels have the same scale."
    )
    if any(effect.is_date for effect in found):
        intro += " Over dates it is the trend: the mean over the days of each stretch of time, so that days of the week cancel out."
    low, high = _limits(found)
    panels = [_panel(effect, low, high, of_classes) for effect in found]
    key = _key(found[0].outputs) if many else text("")
    listed = [
        [effect.name, value, *(written(float(mean), of_classes) for mean in means)]
        for effect in found
        for value, means in _values(effect)
    ]
    headings = ["column", "value", *(found[0].outputs if of_classes else ["mean answer"])]
    values = details(
        "The curves as a table", table("Mean answer for values of each column", headings, listed, range(2, len(headings)), "values")
    )
    return joined([element("h3", "Learnt curves"), element("p", intro), key, element("div", *panels, cls="panels"), values])


def _values(effect: Effect) -> list[tuple[str, Vector]]:
    """Each value with its means; a missing one last."""
    known = [(_value(value), means) for value, means in zip(effect.values, effect.means, strict=True)]
    return known if effect.blank is None else [*known, (BLANK, effect.blank)]


def _limits(found: tuple[Effect, ...]) -> tuple[float, float]:
    values = np.concatenate([part.ravel() for effect in found for part in (effect.means, effect.blank) if part is not None])
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


def _value(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]")).replace("T", " ")
    return written(value) if isinstance(value, float) else str(value)


def _panel(effect: Effect, low: float, high: float, share: bool) -> Html:
    """One column: a line over numbers and dates, dots beside strings and for a missing value."""
    is_string = isinstance(effect.values[0], str)
    shown = [(value, written(value, share)) for value in ticks(low, high, about=4)]
    left = 12 + CHARACTER * max(len(said) for _, said in shown)
    box = (left, TOP, WIDTH - RIGHT - (0 if effect.blank is None else ROOM_FOR_BLANK), HEIGHT - BOTTOM)
    values = np.arange(len(effect.values)) if is_string else np.array(effect.values)
    at = values.astype("datetime64[s]").astype(float) if effect.is_date else values.astype(float)
    first, last = float(at[0]), float(at[-1])
    room = 0.5 if is_string else 0.0
    x = box[0] + (at - first + room) / (last - first + 2.0 * room) * (box[2] - box[0])

    def up(y: float) -> float:
        return box[3] - (y - low) / (high - low) * (box[3] - box[1])

    parts = []
    for value, said in shown:
        at_value = f"{up(value):.1f}"
        parts.append(element("line", x1=f"{left:.0f}", x2=WIDTH - RIGHT, y1=at_value, y2=at_value, cls="grid"))
        parts.append(element("text", said, x=f"{left - 6:.0f}", y=at_value, dy="0.32em", cls="tick end"))
    parts += _below(effect, x, box, (first, last))
    for k in range(len(effect.outputs)):
        y = np.array([up(float(mean)) for mean in effect.means[:, k]])
        dots = [] if len(x) > 12 and not is_string else list(zip(x, y, strict=True))
        if not is_string:
            parts.append(element("path", d=path(x, y, np.isfinite(y)), cls=f"line-{role(k)}{' thin' if dots else ''}"))
        if effect.blank is not None:
            dots.append((WIDTH - RIGHT - ROOM_FOR_BLANK / 2, up(float(effect.blank[k]))))
        parts += [element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3.5, cls=f"fill-{role(k)}") for a, b in dots]
    said = "; ".join(f"{written(float(means[0]), share)} at {value}" for value, means in (_values(effect)[0], _values(effect)[-1]))
    svg = element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{effect.name}: {said}")
    return element("figure", element("figcaption", effect.name), svg, cls="panel")


def _below(effect: Effect, x: Vector, box: tuple[float, int, int, int], ends: tuple[float, float]) -> list[Html]:
    """What stands below the x axis."""
    found: list[tuple[float, str, str]] = []  # x, text and how it is aligned
    if effect.is_date:
        days = (ends[1] - ends[0]) / 86_400.0
        unit: Any = "M" if days > 120.0 else "D" if days > 3.0 else "m"
        dates = [str(np.datetime64(value, unit)).partition("T") for value in (effect.values[0], effect.values[-1])]
        (first, last) = (clock or day for day, _, clock in dates)
        found += [(box[0], first, ""), (box[2], last, "end")]
    elif isinstance(effect.values[0], str):
        room = max(2, int((box[2] - box[0]) / len(x) / CHARACTER))
        found += [(a, _shortened(str(name), min(room, LONGEST)), "middle") for a, name in zip(x, effect.values, strict=True)]
    else:
        step = (box[2] - box[0]) / (ends[1] - ends[0])
        found += [(box[0] + (value - ends[0]) * step, written(value), "middle") for value in ticks(*ends, about=4)]
    if effect.blank is not None:
        found.append((WIDTH - RIGHT - ROOM_FOR_BLANK / 2, BLANK, "middle"))
    return [element("text", said, x=f"{a:.1f}", y=box[3] + 18, cls=f"tick {cls}".strip()) for a, said, cls in found]


def _shortened(name: str, room: int) -> str:
    return name if len(name) <= room else name[: max(1, room - 1)] + "…"
