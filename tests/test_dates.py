"""Dates as people and programs write them: read where the order of their parts is certain, left alone where it is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel.data.columns import kinds_in
from onkel.data.dates import date, dates, is_date
from onkel.data.table import Kind
from onkel.errors import InputError
from onkel.model import Date, read

pytestmark = pytest.mark.once

FORMS = [
    "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y %H:%M",
    "%d/%b/%Y:%H:%M:%S", "%d %B %Y, %H:%M", "%b %d %Y", "%B %d, %Y", "%b %d, %Y %I:%M:%S %p", "%a, %d %b %Y %H:%M:%S",
    "%A, %B %d, %Y",
]  # fmt: skip


@settings(deadline=None, database=None)
@given(moment=st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)), form=st.sampled_from(FORMS), minutes=st.integers(-720, 840))
def test_every_certain_form_is_read_as_python_reads_it(moment: datetime, form: str, minutes: int) -> None:
    cell = moment.strftime(form)
    meant = datetime.strptime(cell, form)
    assert is_date(cell)
    assert date(cell) == np.datetime64(meant, "us")
    if "%H" in form:
        zone = timezone(timedelta(minutes=minutes))
        zoned = meant.replace(tzinfo=zone)
        assert date(f"{cell} {zoned.strftime('%z')}") == np.datetime64(zoned.astimezone(UTC).replace(tzinfo=None), "us")
    assert np.array_equal(dates([cell, "2026-01-01"]), np.array([meant, datetime(2026, 1, 1)], "datetime64[us]"))


@pytest.mark.parametrize(
    "cell",
    ["01/02/2024", "1.2.2024", "16 Nov 26", "2024", "2024-1", "20240101", "2024-01/05", "Martin 5 2020", "Room 5 Nov", "Nov 2026",
     "16 Nov 2026 x", "2026-11-16 14", "1,250", "v2024.1.5", "2024.1.5.2"],
)  # fmt: skip
def test_what_is_not_certain_is_no_date(cell: str) -> None:
    assert not is_date(cell)
    assert np.isnat(date(cell))


@pytest.mark.parametrize(
    "cell", ["2026-02-30", "2026/13/01", "32 Nov 2026", "2026-01-01 25:00", "2026-01-01 13:00 pm", "0000-01-01"]
)
def test_a_date_that_does_not_exist_is_none(cell: str) -> None:
    assert is_date(cell)
    assert np.isnat(date(cell))


def test_months_are_dates_where_a_whole_column_is_so(tmp_path: Path) -> None:
    assert kinds_in(["1949-01", "", "1949-12"])[0] is Kind.DATE
    assert kinds_in(["1949-01", "1949-13"])[0] is Kind.TEXT  # a code
    path = tmp_path / "t.csv"
    path.write_text("Month,y\n" + "".join(f"{1949 + k // 12}-{1 + k % 12:02},{k}\n" for k in range(144)))
    found = read(path, "y")
    assert found.encoder.columns == (Date("Month", "1949-01-01", day=False, week=False),)
    moments = np.arange("1949-01", "1961-01", dtype="datetime64[M]").astype("datetime64[D]")
    assert next(iter(found))[0][:, 0].tolist() == (moments - moments[0]).astype(float).tolist()
    path.write_text("Month,y\n" + "1949-01,1\n" * 1200 + "196-01,7\n")
    with pytest.raises(InputError, match=r"line 1202, column 'Month': '196-01' is not a date; write it as 2026-11-16"):
        list(read(path, "y"))


@pytest.mark.parametrize("form", ["%Y/%m/%d %H:%M", "%b %d %Y %I:%M %p", "%d-%b-%Y %H:%M"])
def test_a_file_gives_the_same_in_every_form(tmp_path: Path, form: str) -> None:
    moments = [datetime(2024, 2, 27) + timedelta(hours=7 * k) for k in range(60)]
    for name, written in (("iso", "%Y-%m-%d %H:%M"), ("other", form)):
        rows = (f'"{moment.strftime(written)}",{k % 7}\n' for k, moment in enumerate(moments))
        (tmp_path / f"{name}.csv").write_text("when,y\n" + "".join(rows))
    found, expected = read(tmp_path / "other.csv", "y"), read(tmp_path / "iso.csv", "y")
    assert found.encoder == expected.encoder
    assert next(iter(found))[0].tobytes() == next(iter(expected))[0].tobytes()
