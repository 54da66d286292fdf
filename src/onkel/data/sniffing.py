"""Detects decimal commas, marks between thousands and unusual dates in cells, and what the user should be told about them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from shlex import quote
from typing import Any

from onkel.data import clock, dates
from onkel.data.columns import MISSING, RARELY, declare, number, shown
from onkel.data.table import Kind, Table
from onkel.errors import InputError

MANY_LABELS = 32  # more different labels than this number, and more than half of the first rows, are hardly classes

_THOUSANDS = re.compile(r"[+-]?\d{1,3}((,\d{3})+(\.\d*)?|(\.\d{3})+,\d*|(\.\d{3}){2,}|([ '\u00a0\u202f]\d{3})+([.,]\d*)?)")
_WITH_SIGN = re.compile(r"(?=.*[$€£¥%])[$€£¥]?\s*[+-]?\d[\d.,]*\s*[$€£¥%]?")
_COMMA_OF_EITHER_USE = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_UNCERTAIN_DATE = re.compile(
    rf"(\d\d?[./-]\d\d?[./-](\d\d)?\d\d|\d\d?[ -]{dates.MONTH}[ -]\d\d)([ T,]+\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[ap]m)?)?", re.IGNORECASE
)


def in_thousands(cell: str) -> bool:
    """Whether the cell is a number with marks between its thousands: 1,000.5 or 1.000,5 or 1 000."""
    return _THOUSANDS.fullmatch(cell.strip()) is not None


def decimal_mark(name: str, separator: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The decimal mark of a csv file, a point or a comma, and a remark if it is a comma.

    It is a comma if commas do not separate the cells, and some column consists of numbers once commas are read as decimal marks.
    In a file with tabs or bars, cells such as 1,234 are not enough for this: the comma may mark thousands.
    """
    if separator == ",":
        return ".", ""
    found = {mark: _written_with(mark, columns) for mark in ".,"}
    commas = found[","]
    if not commas or (
        separator != ";" and all(_COMMA_OF_EITHER_USE.fullmatch(cell) for cells in commas.values() for cell in cells)
    ):
        return ".", ""
    column, cell = next((column, cells[0]) for column, cells in commas.items())
    for other, cells in found["."].items():
        raise InputError(
            f"{name}: {shown(cell)} of column {column!r} has a decimal comma and {shown(cells[0])} of column {other!r} a point; "
            f"write them alike, leave a column out (--without {quote(other)}), or {declare(Kind.TEXT, other)}"
        )
    return ",", f"numbers have decimal commas: {cell.strip()!r} of {column!r} was taken as {number(cell, ',')}"


def _written_with(mark: str, columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The columns that are numbers with this decimal mark, and the cells in which it appears."""
    found = {}
    for column, cells in columns.items():
        there = [cell for cell in cells if cell.strip() not in MISSING]
        marked = [cell for cell in there if mark in cell]
        if marked and all(math.isfinite(number(cell, mark)) for cell in there):
            found[column] = marked
    return found


def remedy(name: str, kind: Kind, cell: str) -> str:
    """What to do about a cell that is not of the kind of its column."""
    ways = ["correct it or drop the line", f"leave the column out, if it is an input (--without {quote(name)})"]
    if kind is Kind.NUMBER and in_thousands(cell):
        ways[0] = "write it without marks between the thousands"
    if kind is Kind.DATE and not dates.is_date(cell):
        ways[0] = f"write it as {dates.FORMS}"
    if kind in clock.FORMS:
        ways[0] = f"write it as {clock.FORMS[kind]}"
    if kind is Kind.NUMBER and dates.is_date(cell):
        ways.append(declare(Kind.DATE, name))
    return f"{', '.join(ways)}, or {declare(Kind.TEXT, name)}"


def codes_remark(name: str, cells: Sequence[str]) -> list[str]:
    """A remark on a column of whole numbers with leading zeros, which may be codes."""
    there = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    led = [cell for cell in there if len(cell) > 1 and cell.startswith("0")]
    if not led or not all(cell.isdecimal() for cell in there):
        return []
    return [f"{name!r} was taken as numbers, so that {led[0]!r} is {int(led[0])}; if it is a code: --text {quote(name)}"]


def remarks(sample: Table, but: Collection[str] = ()) -> list[str]:
    """Remarks on columns of strings that look like numbers or dates, except for the columns in `but`."""
    found = []
    for name in sample.strings:
        cells = [] if name in but else cells_of(sample, name)
        if cells and _nearly_all(_WITH_SIGN.fullmatch, cells):
            found.append(f"{name!r} was taken as text: {shown(cells[0])} is a number with a sign beside it; write the number alone")
        if cells and _nearly_all(in_thousands, cells):
            found.append(
                f"{name!r} was taken as text: {shown(cells[0])} has marks between its thousands; write numbers without them"
            )
        if cells and _nearly_all(_UNCERTAIN_DATE.fullmatch, cells):
            unclear = "looks like a date, but which part is the day, or which century it is, is not certain"
            found.append(f"{name!r} was taken as text: {shown(cells[0])} {unclear}; write dates like 2026-11-16 or 16 Nov 2026")
    return found


def labels_remark(sample: Table, target: str) -> list[str]:
    """A remark on a target with so many different labels that they are hardly classes."""
    cells = cells_of(sample, target) if target in sample.strings else []
    different = len(set(cells))
    if different <= max(MANY_LABELS, len(cells) // 2):
        return []
    return [
        f"the target {target!r} was taken as labels, {different:,} different ones in the first {len(cells):,} rows, because "
        f"{shown(cells[0])} is not a number; to predict a number, write it like 1234.5"
    ]


def cells_of(sample: Table, name: str) -> list[str]:
    """The strings of a column, without the missing ones."""
    column = sample.strings[name]
    return [column.values[code] for code in column.codes if code >= 0]


def _nearly_all(fits: Callable[[str], Any], cells: Sequence[str]) -> bool:
    return sum(1 for cell in cells if fits(cell)) >= (1.0 - RARELY) * len(cells)
