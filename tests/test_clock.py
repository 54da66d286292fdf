"""Times of day and durations: how they are recognised in each source, and what becomes of them."""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onkel
from onkel import InputError, Model
from onkel.data.clock import kind_of_cell, seconds, seconds_of, written
from onkel.data.columns import kinds_in
from onkel.data.dates import date
from onkel.data.table import Kind
from onkel.model import Duration, Time, read

pytestmark = pytest.mark.once

CELLS: dict[str, tuple[Kind | None, float]] = {
    "14:05": (Kind.TIME, 50_700.0),
    " 9:05 ": (Kind.TIME, 32_700.0),
    "14:05:30.25": (Kind.TIME, 50_730.25),
    "2:05 pm": (Kind.TIME, 50_700.0),
    "12:00 AM": (Kind.TIME, 0.0),
    "12:30:01 p.m.": (Kind.TIME, 45_001.0),
    "23:59:59.999999999": (Kind.TIME, 86_399.999999),
    "24:00": (Kind.DURATION, 86_400.0),
    "125:10:00": (Kind.DURATION, 450_600.0),
    "0 days 00:00:01": (Kind.DURATION, 1.0),
    "1 day, 2:03:04": (Kind.DURATION, 93_784.0),
    "-1 days +23:59:59.5": (Kind.DURATION, -0.5),
    "-2 days": (Kind.DURATION, -172_800.0),
    "PT1H30M": (Kind.DURATION, 5_400.0),
    "-P1DT0.25S": (Kind.DURATION, -86_400.25),
    "14:60": (None, math.nan),
    "13:00 pm": (None, math.nan),
    "0:30 am": (None, math.nan),
    "14:5": (None, math.nan),
    "2:1": (None, math.nan),
    "P": (None, math.nan),
    "PT": (None, math.nan),
    "14:05:00:00": (None, math.nan),
    "١٤:٠٥": (None, math.nan),
}


@pytest.mark.parametrize("cell", CELLS)
def test_cells_in_seconds(cell: str) -> None:
    kind, value = CELLS[cell]
    assert kind_of_cell(cell) is kind
    np.testing.assert_equal(seconds(cell), value)


@settings(deadline=None, database=None)
@given(moment=st.times())
def test_times_are_read_as_they_are_written(moment: time) -> None:
    value = seconds_of(moment)
    assert value == seconds(str(moment)) == seconds(written(value))
    assert 0.0 <= value < 86_400.0
    assert written(value) == str(moment).rstrip("0").rstrip(".") if moment.microsecond else written(value) == str(moment)


@settings(deadline=None, database=None)
@given(span=st.timedeltas(timedelta(days=-(10**6)), timedelta(days=10**6)))
def test_durations_are_read_as_they_are_written(span: timedelta) -> None:
    expected = span.total_seconds()
    assert seconds_of(span) == seconds_of(np.timedelta64(span)) == expected
    assert seconds(str(span)) == expected
    pandas = pytest.importorskip("pandas")
    assert seconds(str(pandas.Timedelta(span))) == seconds_of(pandas.Timedelta(span)) == expected


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["14:05", "", "NA", "15:00"], Kind.TIME),
        (["14:05", "24:01"], Kind.DURATION),
        (["14:05", "1 days 00:00:00"], Kind.DURATION),
        (["14:05", "closed"], Kind.TEXT),  # a word that is no slip must not make an error of a column of words
        (["14:05", "14.5"], Kind.NUMBER),
        (["14:05", "2026-01-01"], Kind.DATE),
    ],
)
def test_a_column_is_one_of_times_only_if_all_its_first_cells_are(cells: list[str], kind: Kind) -> None:
    assert kinds_in(cells)[0] is kind


OPENS = [None if k % 7 == 3 else time(k * 5 % 24, k * 7 % 60, k % 60) for k in range(200)]
TOOK = [None if k % 11 == 3 else timedelta(hours=k % 40, milliseconds=k) for k in range(200)]
ROWS: list[dict[str, Any]] = [
    {"opens": opens, "took": took, "town": "abc"[k % 3], "price": float(k * 17 % 31)}
    for k, (opens, took) in enumerate(zip(OPENS, TOOK, strict=True))
]


def as_csv(path: Path, rows: list[dict[str, Any]], more: int = 0, town: str = "{}") -> Path:
    with path.open("w", newline="") as file:
        wide = [f"x{k}" for k in range(more)]
        csv.writer(file).writerows([[*rows[0], *wide], *([*row.values(), *range(more)] for row in rows)])
    path.write_text(path.read_text().replace(",a,", f",{town.format('a')},"))
    return path


def test_every_way_through_a_csv_file_reads_them_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By pyarrow; by the csv module, where a quote stands at an odd place; with fewer rows than columns."""
    stream = read(as_csv(tmp_path / "a.csv", ROWS), "price", missing="mean")
    assert [column for column in stream.encoder.columns if column.name != "town"] == [Time("opens", True), Duration("took", True)]
    ((X, _),) = stream
    odd = read(as_csv(tmp_path / "odd.csv", ROWS, town='{}"'), "price", missing="mean")
    assert next(iter(odd))[0].tobytes() == X.tobytes()
    wide = read(as_csv(tmp_path / "wide.csv", ROWS, more=400), "price", missing="mean", columns=["opens", "took", "town"])
    assert next(iter(wide))[0].tobytes() == X.tobytes()


@pytest.mark.parametrize("late", ["25:61", "noon", "14"])
def test_a_late_cell_that_is_no_time_is_an_error_that_names_its_line(tmp_path: Path, late: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("opens,y\n" + "14:05,1\n" * 1200 + f"{late},2\n")
    form = "write it as 14:05, 14:05:30 or 2:05 pm, leave the column out"
    with pytest.raises(InputError, match=f"line 1202, column 'opens': '{late}' is not a time of day; {form}"):
        list(read(path, "y"))
    frame = pytest.importorskip("pandas").DataFrame({"opens": ["14:05"] * 3 + [late], "y": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(InputError, match=f"row 3 .*, column 'opens': '{late}' is not a time of day; {form}"):
        list(read(frame, "y", times=["opens"]))
    model = Model(target="y", learner=onkel.PKAWV())
    state = model.init(rows := [{"opens": time(14, 5), "y": 1.0}])
    model.learn(state, rows)
    with pytest.raises(InputError, match=f"key 'opens': '{late}' is not a time of day; {form}"):
        model.learn(state, {"opens": late, "y": 1.0})
    assert state.rows == 1


def test_single_rows_give_the_bits_of_a_table(tmp_path: Path) -> None:
    model = Model(target="price", learner=onkel.PKAWV())
    whole, state = model.init(ROWS), model.init(ROWS)
    expected = model.learn(whole, ROWS)
    found = [model.learn(state, row)[0] for row in ROWS]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert state.encoded == whole.encoded
    onkel.save(tmp_path / "m.onkel", model, state)
    again, loaded = onkel.load(tmp_path / "m.onkel")
    written_as = {"opens": "13:04:05", "took": "1 days 02:00:00", "town": "b"}
    meant = {"opens": time(13, 4, 5), "took": timedelta(hours=26), "town": "b"}
    assert again.predict(loaded, written_as).tolist() == model.predict(state, meant).tolist()
    frame = pytest.importorskip("polars").DataFrame([meant])
    assert again.predict(loaded, frame).tolist() == model.predict(state, meant).tolist()


def test_a_time_is_near_midnight_from_both_sides() -> None:
    """A function of the clock is learnt across midnight, which the number of seconds alone does not allow a linear model."""
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 1440, 2000)
    rows = [{"at": time(minute // 60, minute % 60), "y": math.cos(2.0 * math.pi * minute / 1440.0)} for minute in minutes.tolist()]
    model = Model(target="y", learner=onkel.PKAWV(onkel.Identity() + onkel.Constant()))
    state = model.init(rows)
    model.learn(state, rows)
    np.testing.assert_allclose(model.predict(state, [{"at": time(23, 59)}, {"at": time(0, 1)}]), 1.0, atol=0.05)


@pytest.mark.parametrize("kind", ["a time of day", "a duration"])
def test_they_are_no_target(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,14:05\n2,15:00\n" + ("3,30:00\n" if kind == "a duration" else ""))
    with pytest.raises(InputError, match=f"the target 'y' is {kind}; to predict it, give it as a number of seconds; .*--text y"):
        read(path, "y")
    assert read(path, "y", text=["y"]).target.kind is Kind.TEXT


def test_offsets_from_utc_in_all_their_spellings() -> None:
    noon = np.datetime64("2026-03-01T12:00", "us")
    for cell in ("12:00", "12:00Z", "12:00 UTC", "12:00UTC", "13:00+01", "13:00+01:00", "06:30-0530", "12:00:00.000000999"):
        assert date(f"2026-03-01 {cell}") == noon, cell
    assert np.isnat(date("2026-03-01 12:00 CET"))


def test_dates_with_zones_are_the_same_in_every_source(tmp_path: Path) -> None:
    zones = [timezone(timedelta(hours=2)), UTC, timezone(timedelta(hours=-5, minutes=-30))]
    when = [datetime(2026, 3, 1 + k % 28, 20, tzinfo=zones[0]) for k in range(60)]
    mixed = [moment.astimezone(zones[k % 3]) for k, moment in enumerate(when)]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y = [float(k % 7) for k in range(60)]
    frame = pandas.DataFrame({"when": when, "y": y})
    assert frame["when"].dt.tz is not None
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv").write_text("when,y\n" + "".join(f"{a.isoformat()},{b}\n" for a, b in zip(mixed, y, strict=True)))
    objects = pandas.DataFrame({"when": mixed, "y": y}, dtype=object)
    sources = [
        frame, objects, polars.from_pandas(frame), tmp_path / "a.csv", tmp_path / "b.csv",
        [{"when": a, "y": b} for a, b in zip(mixed, y, strict=True)],
        [{"when": a.astimezone(UTC).replace(tzinfo=None), "y": b} for a, b in zip(when, y, strict=True)],
    ]  # fmt: skip
    expected = next(iter(read(sources[-1], "y")))[0]
    assert np.ptp(expected[:, 0]) == 27.0
    for source in sources:
        assert next(iter(read(source, "y")))[0].tobytes() == expected.tobytes()
