"""Dates as people and programs write them, wherever the order of year, month and day is certain.

2026-11-16    2026-11-16 14:05    2026-11-16T14:05:00.5Z    2026-11-16 14:05:00+01:00    ISO 8601
2026/11/16 14:05    2026.11.16    2026-1-6                                              the year first
16 Nov 2026    16-Nov-2026    Nov 16, 2026 2:05 pm    Mon, 16 Nov 2026 14:05:00 +0100    the month by its name
2026-11                                                                                 a whole column of months
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from onkel.data.table import Dates

NO_DATE = np.datetime64("NaT", "us")
FORMS = "2026-11-16, 2026-11-16 14:05 or 2026-11-16T14:05:00.5, with or without Z or +01:00"
MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)

_ZONE = r"(?: ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
_CLOCK = r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?: ?([ap])\.?m\.?)?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]* +)?"
_REST = rf"(?:(?:T| +|, *|:){_CLOCK}{_ZONE})?"
_PLAIN = re.compile(r"(?!0000)\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)  # ISO 8601 without an offset from UTC
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d\d?)\2(\d\d?){_REST}", re.ASCII)
_DAY_FIRST = re.compile(rf"{_WEEKDAY}(\d\d?)[ /-]{MONTH}[ /-](\d{{4}}){_REST}", re.ASCII | re.IGNORECASE)
_NAME_FIRST = re.compile(rf"{_WEEKDAY}{MONTH} +(\d\d?)(?:st|nd|rd|th)?,? +(\d{{4}}){_REST}", re.ASCII | re.IGNORECASE)
_MONTH_ONLY = re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII)
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: month for month, name in enumerate(_NAMES, 1)}


def is_date(cell: str) -> bool:
    """Whether the cell is written like a date."""
    cell = cell.strip()
    return any(form.fullmatch(cell) for form in (_YEAR_FIRST, _DAY_FIRST, _NAME_FIRST))


def is_month(cell: str) -> bool:
    """Whether the cell is written like 2026-11. It may be a month or a code, so a single cell does not decide."""
    return _MONTH_ONLY.fullmatch(cell.strip()) is not None


def date(cell: str) -> np.datetime64:
    """The cell as a point in time, NaT if it is not a date. A date with an offset from UTC is converted to UTC."""
    cell = cell.strip()
    if found := _YEAR_FIRST.fullmatch(cell):
        year, _, month, day, *rest = found.groups()
    elif found := _DAY_FIRST.fullmatch(cell):
        day, month, year, *rest = found.groups()
    elif found := _NAME_FIRST.fullmatch(cell):
        month, day, year, *rest = found.groups()
    elif _MONTH_ONLY.fullmatch(cell):
        return np.datetime64(cell, "us")
    else:
        return NO_DATE
    return _moment(int(year), _MONTHS.get(month[:3].lower()) or int(month), int(day), *rest)


def dates(cells: Sequence[str]) -> Dates:
    """The cells as dates: all at once if all are ISO 8601 without an offset from UTC, else one by one."""
    if all(map(_PLAIN.fullmatch, cells)):
        with contextlib.suppress(ValueError):  # such as the 30th of February
            return np.array(cells, dtype="datetime64[us]")
    return np.array([date(cell) for cell in cells], dtype="datetime64[us]")


def _moment(
    year: int, month: int, day: int, hour: str | None, minute: str | None, second: str | None, part: str | None, half: str | None,
    zone: str | None,
) -> np.datetime64:  # fmt: skip
    hours = int(hour or 0)
    if half and not 1 <= hours <= 12:
        return NO_DATE
    hours = hours % 12 + 12 * (half in "pP") if half else hours
    offset = "+00:00" if zone in (None, "Z", "UTC", "GMT") else zone
    micro = int((part or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hours, int(minute or 0), int(second or 0), micro)
        zoned = datetime.fromisoformat(f"{moment.isoformat()}{offset}")
        return np.datetime64(zoned.astimezone(UTC).replace(tzinfo=None), "us")
    except (ValueError, OverflowError):
        return NO_DATE
