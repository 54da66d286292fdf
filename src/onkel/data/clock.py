"""Times of day and durations, each as a number of seconds, to the microsecond.

14:05    14:05:00.25    2:05 pm                                            a time of day
25:10:00    2 days 01:30:00    -1 day, 23:59:59    PT1H30M                 a duration, as pandas, Python and ISO 8601 write it
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import time, timedelta
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.table import Kind

DAY = 86_400  # seconds
FORMS = {Kind.TIME: "14:05, 14:05:30 or 2:05 pm", Kind.DURATION: "1:30:00, 2 days 01:30:00 or P2DT1H30M"}
MICRO = 10**6  # of a second

_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(?: ?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)
_DAYS = re.compile(r"([+-]?\d{1,8}) days?(?:,? \+?(\d{1,2}):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_ISO = re.compile(
    r"([+-]?)P(?=.)(?:(\d{1,8})D)?(?:T(?=.)(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?", re.ASCII
)  # fmt: skip


def kind_of_cell(cell: str) -> Kind | None:
    """Whether the cell is written like a time of day or like a duration; None for anything else."""
    if math.isnan(found := seconds(cell)):
        return None
    return Kind.TIME if _CLOCK.fullmatch(cell.strip()) and found < DAY else Kind.DURATION


def seconds(cell: str) -> float:
    """The cell in seconds, NaN if it is neither a time of day nor a duration."""
    cell = cell.strip()
    if clock := _CLOCK.fullmatch(cell):
        hours, minutes, whole, part, half = clock.groups()
        if half is None:
            return _sum("0", hours, minutes, whole, part)
        return _sum("0", str(int(hours) % 12 + 12 * (half in "pP")), minutes, whole, part) if 1 <= int(hours) <= 12 else math.nan
    if days := _DAYS.fullmatch(cell):
        return _sum(*days.groups())
    if iso := _ISO.fullmatch(cell):
        return (-1.0 if iso[1] == "-" else 1.0) * _sum(*iso.groups()[1:])
    return math.nan


def _sum(days: str | None, hours: str | None, minutes: str | None, whole: str | None, part: str | None) -> float:
    total = DAY * int(days or 0) + 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(whole or 0)
    return (MICRO * total + int((part or "")[:6].ljust(6, "0"))) / MICRO


def all_seconds(cells: Sequence[str]) -> Vector:
    return np.array([seconds(cell) for cell in cells], dtype=float)


def kind_of_value(value: Any) -> Kind | None:
    """Kind.TIME or Kind.DURATION for a Python or NumPy value that is a time of day or a duration, or a string that is written like
    one; None for anything else."""
    if isinstance(value, str):
        return kind_of_cell(value)
    if isinstance(value, time):
        return Kind.TIME
    return Kind.DURATION if isinstance(value, timedelta | np.timedelta64) else None


def seconds_of(value: Any) -> float:
    """A Python or NumPy value in seconds, NaN if it is neither a time of day nor a duration. A time zone is ignored."""
    if isinstance(value, str):
        return seconds(value)
    if isinstance(value, time):
        value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    if isinstance(value, timedelta):
        return (value // timedelta(microseconds=1)) / MICRO
    if isinstance(value, np.timedelta64) and not np.isnat(value):
        return int(value.astype("timedelta64[us]").astype(np.int64)) / MICRO
    return math.nan


def written(moment: float) -> str:
    """A time of day as 14:05:00."""
    micros = round(moment * MICRO)
    total, part = divmod(micros, MICRO)
    fraction = f".{part:06}".rstrip("0") if part else ""
    return f"{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}{fraction}"
