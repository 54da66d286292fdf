"""What the columns say: their importance, and the curves that were learnt (`curves`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from onkel.measure.importance import BLOCK, Importance, NotMeasured, Together
from onkel.report.html.bars import bar
from onkel.report.html.contents import Contents, Section
from onkel.report.html.curves import curves
from onkel.report.html.markup import Html, details, element, joined, table
from onkel.report.html.ticks import shown
from onkel.report.results import SHARES, without, written

SHOWN = 25  # columns in the table; more are in its details
SAID = 3  # the most important columns, in the terminal
WORTH_SAYING = 0.01  # of the error: a column without which the error is smaller by so much is named


def said_by_columns(contents: Contents) -> Section | None:
    parts = []
    if isinstance(contents.importance, Importance):
        parts.append(_importance(contents, contents.importance))
    if contents.effects:
        parts.append(curves(contents))
    return Section("columns", "What the columns say", joined(parts)) if parts else None


class _Line(NamedTuple):
    """Of a column, or of several together: the rises of the error."""

    name: str
    permuted: float
    without: float  # NaN if it is not known

    @property
    def rises(self) -> tuple[float, float]:
        return self.permuted, self.without


def _lines(found: Importance) -> list[_Line]:
    """The most important first."""
    alone = [_Line(name, found.permuted[name], found.without.get(name, math.nan)) for name in found.names]
    groups = [
        _Line(" + ".join(one.names), one.permuted, math.nan if one.without is None else one.without) for one in found.together
    ]
    rises = [_Line(one.name, one.permuted - found.error, one.without - found.whole) for one in (*alone, *groups)]
    return sorted(rises, key=lambda one: -one.permuted)


def most_important(contents: Contents) -> str:
    """A sentence on the most important columns, as plain text; empty if nothing was to be measured."""
    found, metric = contents.importance, contents.metric
    if found is None:
        return ""
    if isinstance(found, NotMeasured):
        return not_measured(found)
    measure, members = metric.title, {name for one in found.together for name in one.names}
    most = [line for line in _lines(found) if line.permuted > 0.0 and line.name not in members][:SAID]
    if not most:
        return f"The {measure} does not rise if the values of a column are exchanged among rows: no column matters by itself."
    said = ", ".join(f"{line.name} ({_rise(line.permuted, metric.name in SHARES)})" for line in most)
    return f"Most important (rise of the {measure} if the values are exchanged among rows): {said}."


def not_measured(found: NotMeasured) -> str:
    return f"The importance of the columns was not measured: {found.reason}."


def _importance(contents: Contents, found: Importance) -> Html:
    metric = contents.metric
    share = metric.name in SHARES
    own = f"{metric.title} {shown(metric.name, found.error)}"
    intro = (
        f"How much worse the answers become ({metric.title}), on the first {found.rows:,} rows. Exchanged: a new model learns "
        f"{found.learnt:,} rows; the next {found.scored:,} are answered before they are learnt, {BLOCK} at a time, as they are "
        f"({own}) and with the values of one column exchanged at random among them. These answers use no earlier labels."
    )
    lines = _lines(found)
    has_without = any(math.isfinite(line.without) for line in lines)
    if has_without:
        whole = f"{metric.title} with all columns {shown(metric.name, found.whole)}"
        intro += f" Left out: a new model learns the first {found.rows:,} rows again without the column ({whole})."
    if not found.in_time:
        intro += f" The time limit of {found.seconds:g} s ended this before every column was measured."
    largest = max((rise for line in lines for rise in line.rises if math.isfinite(rise)), default=1.0)
    headings = ["column", "exchanged: rise", "", *(["left out: rise", ""] if has_without else [])]

    def cells(line: _Line) -> list[str]:
        made: list[str] = [line.name]
        for rise in line.rises[: 1 + has_without]:
            made += [_rise(rise, share), bar([rise], largest) if math.isfinite(rise) else Html("")]
        return made

    rows = [cells(line) for line in lines]
    caption = f"Importance of the columns: rise of the {metric.title}"
    parts = [
        element("h3", "Importance"),
        element("p", intro),
        *([element("p", _on_groups(found.together))] if found.together else []),
        table(caption, headings, rows[:SHOWN], numeric=(1, 3), cls="importance"),
    ]
    if len(rows) > SHOWN:
        more = table(f"{caption}, continued", headings, rows[SHOWN:], numeric=(1, 3), cls="importance")
        parts.append(details(f"{len(rows) - SHOWN} more columns", more))
    if any(rise < 0.0 for line in lines for rise in line.rises):
        parts.append(element("p", _on_falls(found), cls="small"))
    return joined(parts)


def _on_groups(groups: Sequence[Together]) -> str:
    """Why strongly correlated columns have a line of their own."""
    listed = [
        f"{' + '.join(one.names)} (rank correlation {'at least ' * (len(one.names) > 2)}{one.correlation:.2f})" for one in groups
    ]
    said = "Strongly correlated columns stand in for each other where only one is exchanged or left out, so they are also measured"
    return f"{said} together: {', '.join(listed)}."


def _on_falls(found: Importance) -> str:
    """What a negative rise means, and which columns are better left out."""
    said = "A negative figure: the error is smaller without what the column says"
    better = [name for name, error in found.without.items() if found.whole - error > WORTH_SAYING * found.whole]
    if not better:
        return f"{said}; leaving out any single column here makes less than {WORTH_SAYING:.0%} of difference to the better."
    return f"{said}. It may be better to leave out {_listed(better)}: {without(better)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _rise(rise: float, share: bool) -> str:
    if not math.isfinite(rise):
        return "–"
    if share:
        return f"{100.0 * rise:+.2f} points"
    return f"{'+' if rise > 0.0 else ''}{written(rise)}"
