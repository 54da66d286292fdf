"""The rows that were met, and how the page was made."""

from __future__ import annotations

import math
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from onkel.measure.column_sums import MOVED, SHIFT, ColumnSummary
from onkel.report.html.bars import spark
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import details, element, joined, table
from onkel.report.results import counted, short, without, written

SHOWN = 40  # columns; more are in details
NAMED = 3  # strings
PACKAGES = ("onkel", "numpy", "numba")


def rows(contents: Contents) -> Section | None:
    result = contents.main
    observed = result.observed
    if observed is None or not observed.columns:
        return None
    gaps = sum(one.missing for one in observed.columns)
    drifted = [one.name for one in observed.columns if one.drifted]
    parts = [f"{counted(observed.rows, 'row')}, {counted(len(observed.columns), 'column')}."]
    parts.append(f"{counted(gaps, 'value')} {'is' if gaps == 1 else 'are'} missing." if gaps else "No value is missing.")
    if drifted:
        parts.append(f"Drifted between the first and the last quarter of the rows: {', '.join(drifted)}.")
    elif any(one.drift is not None for one in observed.columns):
        parts.append("No column has drifted between the first and the last quarter of the rows.")
    if counters := [one.name for one in observed.columns if one.counts_rows and one.name != result.target]:
        rise = "rises by 1 with each row, as row numbers do" if len(counters) == 1 else "rise by 1 with each row, as row numbers do"
        parts.append(f"{', '.join(counters)} {rise}; to leave {'it' if len(counters) == 1 else 'them'} out: {without(counters)}.")
    if observed.columns_left_out:
        parts.append(f"Not looked at: {counted(observed.columns_left_out, 'further column')}.")
    explained = (
        f"Drift of numbers: the distance of the two quarters' means in standard deviations, marked above {SHIFT:g}. Drift of "
        f"strings: the share of values that moved to other strings, marked above {MOVED:.0%}. The small curves show means along "
        "the stream, over the range of the values."
    )
    listed = [_cells(one, observed.rows, one.name == result.target) for one in observed.columns]
    headings = ["column", "type", "missing", "values", "along the stream", "first quarter → last", "drift"]
    known = [k for k in range(len(headings)) if any(cells[k] not in ("", "–") for cells in listed)]
    headings, listed = [headings[k] for k in known], [[cells[k] for k in known] for cells in listed]
    right = [k for k, heading in enumerate(headings) if heading in ("missing", "drift")]
    caption = "Columns, their gaps and their drift"
    made = table(caption, headings, listed[:SHOWN], numeric=right, cls="columns")
    more = [
        details(
            f"{len(listed) - SHOWN} more columns",
            table(f"{caption}, continued", headings, listed[SHOWN:], numeric=right, cls="columns"),
        )
    ]
    body = [
        element("p", " ".join(parts)),
        made,
        *(more if len(listed) > SHOWN else []),
        *([element("p", explained, cls="small")] if "drift" in headings else []),
    ]
    return Section("data", "The data", joined(body))


def _cells(one: ColumnSummary, rows: int, is_target: bool) -> list[str]:
    kind = "number" if len(one.means) else "text" if one.common or one.values is not None else "date"
    missing = f"{one.missing:,} ({one.missing / max(1, rows):.1%})" if one.missing else "0"
    drift = (
        "–" if one.drift is None else f"{one.drift:.1%}" if kind == "text" else "∞" if math.isinf(one.drift) else f"{one.drift:.2f}"
    )
    moved = "" if one.first is None or one.last is None else f"{written(one.first)} → {written(one.last)}"
    flags = [element("span", "target", cls="flag quiet")] if is_target else []
    flags += [element("span", "row number", cls="flag")] if one.counts_rows else []
    flags += [element("span", "drifted", cls="flag")] if one.drifted else []
    name = joined([one.name, *flags], " ")
    return [name, kind, missing, _values(one), spark(one.means, one.lows, one.highs), moved, drift]


def _values(one: ColumnSummary) -> str:
    if one.common or one.values is not None:
        named = ", ".join(f"{value} ({count:,})" for value, count in one.common[:NAMED])
        return f"{named}, …" if one.values is None or one.values > NAMED else named
    if one.least is None or one.largest is None:
        return "none"
    ends = [_day(end) if isinstance(end, str) else written(end) for end in (one.least, one.largest)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _day(date: str) -> str:
    """A date without a time that is midnight."""
    return date.removesuffix("T00:00:00").replace("T", " ")


def how(contents: Contents) -> Section:
    result = contents.main
    facts: list[tuple[str, str]] = []
    if contents.command:
        facts.append(("command", element("pre", element("code", contents.command), tabindex="0")))
    for name, one in contents.results.items():
        facts.append(("learner" if len(contents.runs) == 1 else name, element("code", one.learner)))
    scaled = [name for name, is_so in result.standardised.items() if is_so]
    facts += [
        ("rows from", short(result.source)),
        ("target", f"{result.target}, {result.task}"),
        ("earlier labels as inputs", str(result.lags)),
        ("standardised before the learner", ", ".join(scaled) or "nothing"),
        ("inputs", f"{result.inputs:,} in {counted(result.columns, 'column')} of X"),
    ]
    if contents.checksum:
        facts.append(("checksum of the rows (BLAKE2b of their values)", element("code", contents.checksum)))
    facts.append(("versions", ", ".join([*filter(None, map(_version, PACKAGES)), f"Python {platform.python_version()}"])))
    facts.append(("machine", f"{platform.system()} {platform.machine()}"))
    facts.append(("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")))
    listed = [element("div", element("dt", name), element("dd", said)) for name, said in facts]
    return Section("made", "How it was made", element("dl", *listed, cls="facts"))


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""
