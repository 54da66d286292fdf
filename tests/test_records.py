"""Dicts as rows: the same table as an obvious reading of each cell, errors at their row and key, keys that come and go."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel.data import Reading, open_tables
from onkel.data.records import BadCell, Records, detect
from onkel.data.table import Kind, Table
from onkel.errors import FileError, InputError
from onkel.model import Date, Number, OneHot, read

pytestmark = pytest.mark.once

KINDS = {"a": Kind.NUMBER, "b": Kind.NUMBER, "town": Kind.TEXT, "when": Kind.DATE}
numbers = st.one_of(
    st.none(),
    st.floats(allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.floats(width=32, allow_infinity=False).map(np.float32),
    st.integers(0, 255).map(np.uint8),
    st.booleans().map(np.bool_),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-999, max_value=999),
)
strings = st.one_of(st.none(), st.just(math.nan), st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.integers(-9, 9))
moments = st.one_of(
    st.none(),
    st.just(" "),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1), timezones=st.just(timezone(timedelta(hours=2)))),
    st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.isoformat(" ")),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda moment: np.datetime64(moment, "us")),
)
some_rows = st.lists(
    st.fixed_dictionaries({}, optional={"a": numbers, "b": numbers, "town": strings, "when": moments, "new": numbers})
)


def slow_number(value: Any) -> float:
    return math.nan if value is None else float(value)


def slow_string(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return str(value).strip() or None


def slow_moment(value: Any) -> Any:
    if value is None or value == " ":
        return None
    if isinstance(value, np.datetime64):
        return value.astype(datetime)
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    value = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def strings_of(table: Table, name: str) -> list[str | None]:
    return [(*table.strings[name].values, None)[code] for code in table.strings[name].codes]


@settings(max_examples=200, deadline=None, database=None)
@given(rows=some_rows)
def test_the_table_of_dicts_cell_by_cell(rows: list[dict[str, Any]]) -> None:
    table = Records(KINDS).table(rows)
    assert (len(table), table.names) == (len(rows), ("a", "b"))
    expected = [[slow_number(row.get(key)) for key in "ab"] for row in rows]
    np.testing.assert_array_equal(table.numbers, np.array(expected, dtype=float).reshape(-1, 2))
    assert strings_of(table, "town") == [slow_string(row.get("town")) for row in rows]
    assert table.dates["when"].tolist() == [slow_moment(row.get("when")) for row in rows]
    late = [slow_number(cell) for cell in table.late.get("new", np.full(len(rows), None)).tolist()]
    np.testing.assert_array_equal(late, [slow_number(row.get("new")) for row in rows])
    assert [table.place(k) for k in range(len(table))] == [f"row {k} (counted from 0)" for k in range(len(rows))]
    np.testing.assert_array_equal(Records(KINDS, ignored=["new"]).table(rows).numbers, table.numbers)
    assert not Records(KINDS, ignored=["new"]).table(rows).late


def test_kinds_are_detected() -> None:
    rows: list[dict[str, Any]] = [
        {"a": None, "b": "x", "c": "2026-01-01", "d": None, "e": np.int32(3), "f": " "},
        {"a": 1, "c": "soon", "d": date(2026, 1, 1), "g": True, "h": Decimal("1.5"), "i": np.datetime64("2026-01-01")},
    ]
    number, text, moment = Kind.NUMBER, Kind.TEXT, Kind.DATE
    found = {"a": number, "b": text, "c": moment, "d": moment, "e": number, "f": text, "g": number, "h": number, "i": moment}
    assert detect(rows) == found
    assert list(detect(rows)) == list(found)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            {"a": "5"},
            r"key 'a': '5' is not a number; correct it or drop the line, leave the column out.*, or declare the column as t",
        ),
        ({"a": "2026-01-01"}, r"key 'a': '2026-01-01' is not a number; .* declare the column as dates \(dates=\['a'\]"),
        ({"a": [1]}, r"key 'a': '\[1\]' is nested; leave the column out \(without=\['a'\], or --without a\), or write it flat"),
        ({"a": 1j}, r"key 'a': '1j' is not a number"),
        ({"a": 10**400}, r"key 'a': '10+…' is not finite"),
        ({"a": datetime(2026, 1, 1)}, r"key 'a': '2026-01-01 00:00:00' is not a number"),
        ({"town": {"name": "Ulm"}}, r"key 'town': .* is nested"),
        ({"town": "\ud800"}, r"key 'town': .* is not text in Unicode"),
        ({"town": b"Ulm"}, r"key 'town': .* is not text in Unicode"),
        ({"when": "soon"}, r"key 'when': 'soon' is not a date; write it as 2026-11-16"),
        ({"when": 5}, r"key 'when': '5' is not a date"),
        ({"new": math.inf}, r"key 'new': 'inf' is not finite"),
        ({3: 1}, r"row 2 \(counted from 0\): the key 3 is not a string; write it as '3'"),
    ],
)
def test_bad_cells(cell: dict[Any, Any], message: str) -> None:
    good = {"a": 1, "b": 2.0, "town": "Ulm", "when": "2026-01-01"}
    with pytest.raises(BadCell, match=r"row 2 \(counted from 0\)(, |: )") as error:
        Records(KINDS).table([good, good, {**good, **cell}, {**good, "a": "also bad"}])
    assert error.match(message)
    tables = Records(KINDS).tables([good, good, {**good, **cell}])
    assert len(next(tables)) == 2
    with pytest.raises(BadCell, match=message):
        next(tables)


def test_two_bad_rows_the_first_is_named() -> None:
    tables = Records({"a": Kind.NUMBER}).tables([{"a": 1}, {"a": 2, "new": math.inf}, {"a": "x"}])
    assert len(next(tables)) == 1
    with pytest.raises(BadCell, match=r"row 1 .*key 'new'"):
        next(tables)


def test_what_is_not_used_is_noted() -> None:
    records = Records({"a": Kind.NUMBER}, room=False)
    assert not records.table([{"a": 1}, {"a": 2, "b": 3, "c": "x", "d": None}]).late
    more = "keep columns free for such keys: spare=5 (--spare 5)"
    assert sorted(records.notes()) == [
        f"the key {key!r}, which first appears in row 1 (counted from 0), is not used; {more}" for key in "bc"
    ]


ROWS: list[dict[str, Any]] = [
    {"size": 1.5 * k, "town": ["Ulm", "Bonn"][k % 2], "when": datetime(2026, 1, 1 + k % 28), "price": float(k)} for k in range(1100)
]


def test_a_list_of_dicts_is_read_as_json_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(row, default=str) for row in ROWS))
    ours, theirs = read(ROWS, "price", block=300), read(path, "price", block=300)
    assert replace(ours.encoder, ignored=(), grows=False) == theirs.encoder  # dicts may get new keys
    assert ours.encoder.ignored == ("price",)
    assert ours.encoder.columns == (Number("size"), OneHot("town", 4), Date("when", "2026-01-01", day=False))
    for (X, y), (same, labels) in zip(ours, theirs, strict=True):
        assert X.tobytes() == same.tobytes()
        assert y.tobytes() == labels.tobytes()
    assert ours.rows == 1100
    late = [*ROWS, {**ROWS[0], "floor": 7, "colour": "red"}]
    stream = read(late, "price", spare=2)
    X = np.concatenate([X for X, _ in stream])
    assert (X[-1, -2:].tolist(), stream.encoder.names(stream.state)[-2:]) == ([1, 7], ["colour=red", "floor"])
    assert not any("not used" in note for note in stream.notes())


def test_one_dict_and_labels_given_separately() -> None:
    source = open_tables({"a": 1, "town": "Ulm"}, Reading(text=["a"]))
    assert (source.kinds, source.rows) == ({"a": Kind.TEXT, "town": Kind.TEXT}, 1)
    assert strings_of(next(source.tables()), "a") == ["1"]
    X, y = next(iter(read([{"a": 1}, {"a": 2}], [3.0, 4.0])))
    assert (X.tolist(), y.tolist()) == ([[1], [2]], [3, 4])
    _, y = next(iter(read([{"a": 1}, {"a": 2}], ["no", "yes"])))
    assert y.tolist() == [-1, 1]
    assert list(open_tables(ROWS, Reading(columns=["town"]), "price").kinds) == ["town", "price"]
    X, y = next(iter(read([{"y": 1}], [3.0])))  # labels without a name are no column
    assert (X.tolist(), y.tolist()) == ([[1]], [3])
    with pytest.raises(FileError, match="the list of dicts is empty; give at least one dict"):
        read([], "y")
    with pytest.raises(InputError, match="the list of dicts: the key 3 is not a string; write it as '3'"):
        read([{3: 1, "y": 2}], "y")
    with pytest.raises(InputError, match="has no column 'prise'; did you mean 'price'"):
        read(ROWS, "prise")
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\), column 'a': inf is not finite"):
        list(read([{"a": 1, "y": 1}, {"a": math.inf, "y": 1}], "y"))
    with pytest.raises(InputError, match=r"row 4999 \(counted from 0\), key 'a': 'x' is not a number"):
        list(read([{"a": k, "y": k} for k in range(4999)] + [{"a": "x", "y": 1}], "y"))
