"""Columns become X: each in its place for good, whatever the cut into blocks; what is missing is refused, filled or dropped."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel._types import Matrix
from onkel.data.clock import seconds_of
from onkel.data.table import Origin, Table, recut, strings
from onkel.errors import InputError
from onkel.model import (
    Cycle,
    Date,
    Duration,
    Encoder,
    Hashed,
    HourMinute,
    LeftOut,
    Missing,
    Number,
    OneHot,
    Stream,
    Text,
    Time,
    read,
)
from onkel.model.encoder import Means
from onkel.model.encodings import State
from onkel.model.plan import are_lists, is_clock, period_of
from onkel.model.target_means import SLOTS, TargetMeans, Terms

pytestmark = pytest.mark.once

ENCODER = Encoder(
    (
        OneHot("colour", room=3), Number("size"), Hashed("town", buckets=5, labels=2), Date("when"), Cycle("age", 24.0),
        Time("opens"), Duration("took"),
    )
)  # fmt: skip

cells = st.none() | st.sampled_from(["red", "green", "blue", "gold", "grey"])
numbers = st.just(math.nan) | st.floats(-1e6, 1e6)
moments = st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))
clocks, spans = st.none() | st.times(), st.none() | st.timedeltas(timedelta(days=-1000), timedelta(days=1000))
rows = st.lists(st.tuples(cells, numbers, cells, moments, numbers, clocks, spans), min_size=1, max_size=25)
NAMES = ("colour", "size", "town", "when", "age", "opens", "took")


def table(data: list[tuple[Any, ...]]) -> Table:
    colour, size, town, when, age, opens, took = zip(*data, strict=True)
    return Table(
        ("took", "age", "opens", "size"),
        np.column_stack([list(map(seconds_of, took)), age, list(map(seconds_of, opens)), size]).astype(float),
        {"colour": strings(colour), "town": strings(town)},
        {"when": np.array(when, dtype="datetime64[us]")},
        (Origin(len(data), 0, "row {}".format),),
    )


def labels(rows: int) -> Matrix:
    """A number and a class."""
    return np.column_stack([np.sin(np.arange(rows)), np.arange(rows) % 3 == 0])


def learnt(encoder: Encoder, state: State, part: Table, Y: Matrix) -> tuple[Matrix, Any]:
    """A part of a table as a model learns it."""
    X, kept = encoder.learn(state, part)
    encoder.learn_labels(state, part.where(kept), Y[kept], X)
    return X, kept


def encoded(encoder: Encoder, whole: Table, block: int) -> tuple[Matrix, Any, State]:
    state, means, Y = encoder.init(), Means(encoder.width), iter(recut_labels(len(whole), block))
    parts = [learnt(encoder, state, part, next(Y)) for part in recut([whole], block)]
    return np.concatenate([means.fill(X) for X, _ in parts]), np.concatenate([kept for _, kept in parts]), state


def recut_labels(rows: int, block: int) -> list[Matrix]:
    return [labels(rows)[start : start + block] for start in range(0, rows, block)]


def plainly(encoder: Encoder, data: list[tuple[Any, ...]]) -> list[list[float]]:
    """The same, row by row in plain Python."""
    values: dict[str, list[str]] = {"colour": []}
    past: dict[str, list[float]] = {"size": [], "age": [], "when": [], "opens": [], "took": []}
    known: list[tuple[str | None, Any]] = []  # towns and labels so far
    out = []
    for row, label in zip(data, labels(len(data)), strict=True):
        at = dict(zip(NAMES, row, strict=True))
        gone = {name for name, value in at.items() if value is None or value != value}
        if gone and encoder.missing is Missing.DROP:
            continue
        x: list[float] = []
        for column in encoder.columns:
            value = at[column.name]
            if isinstance(value, time):
                value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
            if isinstance(value, timedelta):
                value /= timedelta(seconds=1)
            if isinstance(column, Number | Cycle | Time | Duration):
                mean = math.fsum(past[column.name]) / max(1, len(past[column.name]))
                x.append(mean if column.name in gone else value)
                if column.name not in gone:
                    past[column.name].append(value)
                if isinstance(column, Cycle | Time):
                    period = column.period if isinstance(column, Cycle) else 24.0 * 3600.0
                    angle = math.nan if column.name in gone else 2.0 * math.pi * (value / period % 1.0)
                    x += [0.0, 0.0] if column.name in gone else [math.sin(angle), math.cos(angle)]
            elif isinstance(column, OneHot):
                place = [0.0] * column.room
                if value is not None:
                    if value not in values["colour"] and len(values["colour"]) < column.room:
                        values["colour"].append(value)
                    place[values["colour"].index(value) if value in values["colour"] else column.room - 1] = 1.0
                x += place
            elif isinstance(column, Hashed):
                x += hashed(column, value)
                of_town = [y for town, y in known if town == value and town is not None]
                share = len(of_town) / (len(of_town) + 10.0)
                x += [share * (np.mean(of_town, 0)[j] - np.mean([y for _, y in known], 0)[j]) if of_town else 0.0 for j in (0, 1)]
                known.append((value, label))
            elif value is None:
                x += [sum(past["when"]) / max(1, len(past["when"]))] + [0.0] * 6
            else:
                past["when"].append((value - datetime(1970, 1, 1)) / timedelta(days=1))
                x.append(past["when"][-1])
                day = (value - datetime(value.year, value.month, value.day)) / timedelta(days=1)
                start, end = datetime(value.year, 1, 1), datetime(value.year + 1, 1, 1)
                for phase in (day, (value.weekday() + day) / 7.0, (value - start) / (end - start)):
                    x += [math.sin(2.0 * math.pi * phase), math.cos(2.0 * math.pi * phase)]
            if column.indicator:
                x.append(float(column.name in gone))
        out.append(x)
    return out


def hashed(column: Hashed, value: str | None) -> list[float]:
    """What it makes of one value alone."""
    X = np.zeros((1, column.buckets))
    column.write(strings([value]), ENCODER.init(), X, False)
    return [float(x) for x in X[0]]


@settings(max_examples=100, deadline=None, database=None)
@given(data=rows, block=st.integers(1, 30), missing=st.sampled_from(["mean", "drop"]), indicate=st.booleans())
def test_rows_are_encoded_as_plain_python_does(data: list[tuple[Any, ...]], block: int, missing: str, indicate: bool) -> None:
    columns = (
        OneHot("colour", 3, indicate), Number("size", indicate), Hashed("town", 5, 2, indicate), Date("when", indicator=indicate),
        Cycle("age", 24.0), Time("opens", indicate), Duration("took", indicate),
    )  # fmt: skip
    encoder = Encoder(columns, Missing(missing))
    X, kept, state = encoded(encoder, table(data), block)
    expected = plainly(encoder, data)
    np.testing.assert_allclose(X, np.array(expected).reshape(-1, encoder.width), rtol=1e-12, atol=1e-9)
    assert len(encoder.names(state)) == encoder.width == X.shape[1]
    assert np.count_nonzero(kept) == len(X)
    assert state.dropped == len(data) - len(X)


@settings(max_examples=100, deadline=None, database=None)
@given(data=rows, one=st.integers(1, 30), other=st.integers(1, 30), missing=st.sampled_from(["mean", "drop"]))
def test_the_cut_changes_no_bit(data: list[tuple[Any, ...]], one: int, other: int, missing: str) -> None:
    encoder = Encoder(ENCODER.columns, Missing(missing))
    X, kept, state = encoded(encoder, table(data), one)
    Y, again, end = encoded(encoder, table(data), other)
    assert X.tobytes() == Y.tobytes()
    assert kept.tobytes() == again.tobytes()
    assert state == end


@settings(max_examples=60, deadline=None, database=None)
@given(data=rows, block=st.integers(1, 9), missing=st.sampled_from(["mean", "drop"]))
def test_predict_sees_what_learn_would_and_changes_nothing(data: list[tuple[Any, ...]], block: int, missing: str) -> None:
    encoder = Encoder(ENCODER.columns, Missing(missing))
    state = encoder.init()
    for part in recut([table(data)], block):
        before = state.copy()
        one_by_one = [encoder.predict(state, part[k : k + 1])[0] for k in range(len(part))]
        assert state == before
        assert encoder.predict(state, part)[0].tobytes() == np.concatenate(one_by_one).tobytes()
        first = learnt(encoder, state, part[:1], labels(1))[0]
        assert first.tobytes() == one_by_one[0].tobytes()
        learnt(encoder, state, part[1:], labels(len(part) - 1))


@settings(max_examples=60, deadline=None, database=None)
@given(data=rows, cut=st.integers(0, 25))
def test_a_state_goes_on_from_json(data: list[tuple[Any, ...]], cut: int) -> None:
    encoder = Encoder(ENCODER.columns, Missing.MEAN)
    whole, state, other = table(data), encoder.init(), encoder.init()
    Y = labels(len(whole))
    X = learnt(encoder, state, whole, Y)[0]
    first = learnt(encoder, other, whole[:cut], Y[:cut])[0]
    other = State.from_json(json.loads(json.dumps(other.to_json())))
    encoder.check(other)
    assert X.tobytes() == np.concatenate([first, learnt(encoder, other, whole[cut:], Y[cut:])[0]]).tobytes()
    assert state == other


@pytest.mark.parametrize(
    "change",
    [
        {"filled": {"age": -1}},
        {"values": {}},
        {"values": {"colour": ["a", "b", "c", "d"]}},
        {"values": {"colour": ["a", "a"]}},
        {"values": {"colour": [3]}},
        {"shared": {"colour": -1}},
        {"dropped": 0.5},
        {"means": {}},
        {"means": {"town": TargetMeans.init(1).to_json()}},
        {"means": {"town": TargetMeans(np.full(SLOTS + 1, -1.0), np.zeros((SLOTS + 1, 2))).to_json()}},
    ],
)
def test_a_forged_state_is_refused(change: dict[str, Any]) -> None:
    encoder = Encoder(ENCODER.columns, Missing.MEAN)
    encoder.check(encoder.init())
    with pytest.raises(InputError, match="not one of this encoder"):
        encoder.check(State.from_json({**encoder.init().to_json(), **change}))


def test_a_hash_spreads_values_and_their_signs() -> None:
    column = Hashed("town", buckets=8)
    X = np.array([hashed(column, f"town {k}") for k in range(4000)])
    assert (np.abs(X).sum(axis=1) == 1.0).all()
    places, signs = np.abs(X).argmax(axis=1), X.sum(axis=1)
    for place in range(8):
        here = places == place
        assert abs(np.count_nonzero(here) - 500) < 5 * math.sqrt(500)
        assert abs(signs[here].sum()) < 5 * math.sqrt(500)
    assert hashed(column, "town 1") == hashed(column, "town 1")
    assert any(hashed(column, f"{k}") != hashed(Hashed("village", 8), f"{k}") for k in range(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Encoder(()), "no feature columns"),
        (lambda: Encoder((3,)), "columns must be encodings such as Number or OneHot, got 3"),  # type: ignore[arg-type]
        (lambda: Encoder((Number("a"),), "median"), "missing must be 'refuse' or 'mean' or 'drop', got 'median'"),  # type: ignore[arg-type]
        (lambda: OneHot("a", room=0), "OneHot: room must be at least 1, got 0"),
        (lambda: Hashed("a", buckets=1.5), "Hashed: buckets must be a whole number"),  # type: ignore[arg-type]
        (lambda: Number("a", indicator=1), "Number: indicator must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_settings_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


MIXED = "size,town,when,sold,price\n50,Bonn,2026-03-01,yes,1\n,Ulm,2026-03-02,no,2\n70,,2026-03-03,yes,3\n80,Bonn,,no,4\n"


def stream(folder: Path, content: str, *arguments: Any, **options: Any) -> Stream:
    (folder / "t.csv").write_text(content)
    return read(folder / "t.csv", *arguments, **options)


def test_the_first_rows_plan_the_encoder(tmp_path: Path) -> None:
    found = stream(tmp_path, MIXED, "price", missing="mean")
    assert found.encoder == Encoder(
        (Number("size", True), OneHot("town", 4, True), Date("when", "2026-03-01", day=False, indicator=True), OneHot("sold", 4)),
        Missing.MEAN,
    )
    ((X, y),) = found
    np.testing.assert_array_equal(X[:, :2], [[50, 0], [50, 1], [70, 0], [80, 0]])
    np.testing.assert_array_equal(X[:, 2:7], [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(X[:, 7], [0, 1, 2, 1])  # the trend, with the mean in the gap
    np.testing.assert_array_equal(X[:, 8:13].any(axis=1), [True, True, True, True])
    np.testing.assert_array_equal(X[3, 8:13], [0, 0, 0, 0, 1])
    np.testing.assert_array_equal(y, [1, 2, 3, 4])
    trend, gaps = found.notes()
    assert trend == "when: a date: the trend in days since 2026-03-01, and its place in the week and year"
    how = "missing='refuse' (--missing refuse) stops at the first"
    assert gaps == f"3 missing values were filled in: 1 of 'size', 1 of 'town', 1 of 'when'; {how}"


def test_rows_with_gaps_can_be_dropped(tmp_path: Path) -> None:
    found = stream(tmp_path, MIXED + "90,Ulm,2026-03-03,no,\n", "price", missing="drop")
    ((X, y),) = found
    np.testing.assert_array_equal(X[:, 0], [50])
    np.testing.assert_array_equal(y, [1])
    assert found.notes()[1:] == [
        "3 rows were dropped because a value was missing",
        "1 row was dropped because the label was missing",
    ]


@pytest.mark.parametrize(("column", "line"), [("size", 3), ("town", 4), ("when", 5)])
def test_a_gap_is_refused_by_its_place(tmp_path: Path, column: str, line: int) -> None:
    with pytest.raises(
        InputError, match=rf"t\.csv, line {line}, column '{column}': the value is missing; fill it, .*--missing mean"
    ):
        list(stream(tmp_path, MIXED, "price", columns=[column], block=3))


def test_two_texts_are_two_classes(tmp_path: Path) -> None:
    found = stream(tmp_path, MIXED, "sold", columns=["price"])
    np.testing.assert_array_equal(next(iter(found))[1], [1, -1, 1, -1])
    found = stream(tmp_path, MIXED, "sold", columns=["price"], labels=("yes", "no"))
    np.testing.assert_array_equal(next(iter(found))[1], [-1, 1, -1, 1])
    found = stream(tmp_path, MIXED, "price", columns=["sold"], labels=(1.0, 2.0))
    with pytest.raises(InputError, match=r"line 4, column 'price': the label 3 is neither 1 nor 2; say --task classification"):
        list(found)
    with pytest.raises(InputError, match=r"the target 'when' is a date"):
        list(stream(tmp_path, MIXED, "when", columns=["price"]))
    with pytest.raises(InputError, match=r"the labels of two classes must differ, got 'no' twice"):
        stream(tmp_path, MIXED, "sold", labels=("no", "no"))


def test_other_texts_are_classes_as_they_come(tmp_path: Path) -> None:
    found = stream(tmp_path, MIXED.replace("80,Bonn", "80,A"), "town", columns=["price"], missing="drop", block=2)
    assert [label for _, y in found for label in y] == [0, 1, 2]
    assert found.labels == ["Bonn", "Ulm", "A"]
    assert [label for _, y in stream(tmp_path, MIXED.replace("yes", "no"), "sold", columns=["price"]) for label in y] == [
        0,
        0,
        0,
        0,
    ]
    again = State.from_json(json.loads(json.dumps(found.state.to_json())))
    found.encoder.check(again)
    again.dropped = -1
    with pytest.raises(InputError, match="not one of this encoder"):
        found.encoder.check(again)


def test_columns_can_be_declared(tmp_path: Path) -> None:
    text = "zip,price\n01234,1\n01234,2\n1234,3\n"
    assert stream(tmp_path, text, "price").encoder.columns == (Number("zip"),)
    found = stream(tmp_path, text, "price", text=["zip"])
    assert found.encoder.columns == (OneHot("zip", 4),)
    np.testing.assert_array_equal(next(iter(found))[0], [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(
        InputError, match=r"line 4, column 'zip': '12x4' is not a number; .*declare the column as text \(text=\['zip'\]"
    ):
        list(stream(tmp_path, text.replace("\n1234", "\n12x4"), "price"))
    with pytest.raises(InputError, match=r"line 2, column 'zip': '01234' is not a date"):
        list(stream(tmp_path, text, "price", dates=["zip"]))
    with pytest.raises(InputError, match=r"has no column 'zap'; did you mean 'zip'"):
        stream(tmp_path, text, "price", text=["zap"])
    with pytest.raises(InputError, match=r"'zip' cannot be both text and dates"):
        stream(tmp_path, text, "price", text=["zip"], dates=["zip"])


@pytest.mark.parametrize(
    "cell",
    [
        "2024-02-29",
        "2024-02-29 23:59",
        "2024-02-29T23:59:58",
        "2024-02-29 23:59:58.5",
        "2024-02-29T23:59:58Z",
        "2024-03-01T00:59:58+01:00",
    ],
)
def test_dates_as_iso_8601_writes_them(tmp_path: Path, cell: str) -> None:
    found = stream(tmp_path, f"when,y\n{cell},1\n2024-01-01,2\n", "y")
    moment = datetime.fromisoformat(cell)
    moment = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())
    assert found.sample.dates["when"][0] == np.datetime64(moment, "us")


def test_a_day_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3, column 'when': '2023-02-29' is not a date; correct it"):
        list(stream(tmp_path, "when,y\n2024-02-29,1\n2023-02-29,2\n", "y"))


def test_many_values_are_hashed_and_late_ones_share(tmp_path: Path) -> None:
    many = "id,y\n" + "".join(f"user {k},{k}\n" for k in range(40))
    assert stream(tmp_path, many, "y").encoder.columns == (Hashed("id", labels=1),)
    late = "id,y\n" + "a,1\n" * 1000 + "".join(f"late {k},{k}\n" for k in range(9))
    found = stream(tmp_path, late, "y")
    X = np.concatenate([X for X, _ in found])
    assert X.shape == (1009, 4)
    np.testing.assert_array_equal(X[1000:].argmax(axis=1), [1, 2, 3, 3, 3, 3, 3, 3, 3])
    assert found.notes() == [
        "6 values of 'id' came too late for a column of their own and share one; hash them all: hashed=['id'] (--hash id)"
    ]
    assert stream(tmp_path, late, "y", hashed=["id"]).encoder.columns == (Hashed("id", labels=1),)
    assert stream(tmp_path, "zip,y\n1,1\n2,2\n", "y", hashed=["zip"]).encoder.columns == (Hashed("zip", labels=1),)
    with pytest.raises(InputError, match=r"has no column 'zip'"):
        stream(tmp_path, late, "y", hashed=["zip"])


def test_numbers_beyond_any_sum_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n" + "1.7e308,1\n" * 3 + "-1.7e308,1\n" * 3)
    assert np.concatenate([X for X, _ in read(tmp_path / "a.csv", "y")]).ravel().tolist() == [1.7e308] * 3 + [-1.7e308] * 3


def test_a_text_is_known_by_its_words() -> None:
    column = Text("note", 256)  # no collisions
    X = np.zeros((5, 256))
    column.write(
        strings(["the cat sat down", "The CAT sat", "cats were sitting", "stock prices fell", None]), ENCODER.init(), X, False
    )
    np.testing.assert_allclose((X[:4] ** 2).sum(axis=1), 1.0)
    assert not X[4].any()
    likeness = X @ X[0]
    assert likeness[1] > 0.7 > likeness[2] > likeness[3]


@pytest.mark.parametrize(
    ("name", "values", "period"),
    [
        ("hr", range(24), 24.0),
        ("pickup_hour", range(24), 24.0),
        ("dayOfWeek", range(1, 8), 7.0),
        ("Month", [1, 2], 12.0),
        ("wind_dir", [0, 359], 360.0),
        ("hours_worked", range(24), None),
        ("hour", range(48), None),
        ("is_weekday", [0, 1], None),
        ("month", [-1, 5], None),
    ],
)
def test_cycles_are_known_by_name_and_range(name: str, values: Any, period: float | None) -> None:
    assert period_of(name, np.array(values, dtype=float)) == period


def test_cycles_can_be_declared(tmp_path: Path) -> None:
    text = "hour,turn,price\n" + "".join(f"{k % 24},{k % 10},{k}\n" for k in range(30))
    assert stream(tmp_path, text, "price").encoder.columns == (Cycle("hour", 24.0), Number("turn"))
    assert stream(tmp_path, text, "price", cycles={"turn": 10}).encoder.columns == (Number("hour"), Cycle("turn", 10.0))
    X, _ = next(iter(stream(tmp_path, text, "price", cycles={"turn": 10})))
    np.testing.assert_allclose(X[5], [5, 5, 0, -1], atol=1e-12)
    with pytest.raises(InputError, match=r"has no column 'turns'; did you mean 'turn'"):
        stream(tmp_path, text, "price", cycles={"turns": 10})
    with pytest.raises(InputError, match=r"'hour' is text; only a column of numbers has a period"):
        stream(tmp_path, text, "price", cycles={"hour": 24}, text=["hour"])


def test_what_becomes_of_strings(tmp_path: Path) -> None:
    rows = [f"word{k} of {k % 7} several,user{k % 50},key{k},{k}" for k in range(200)]
    found = stream(tmp_path, "note,user,key,y\n" + "\n".join(rows) + "\n", "y")
    assert found.encoder.columns == (Text("note", labels=1), Hashed("user", labels=1), LeftOut("key"))
    assert [note.split(":")[0] for note in found.notes()] == ["note", "user", "key"]


@pytest.mark.parametrize(("step", "cycles"), [("h", "day week year"), ("D", "week year"), ("W", "year"), ("M", "year"), ("Y", "")])
def test_a_date_has_the_cycles_that_its_steps_can_show(tmp_path: Path, step: Any, cycles: str) -> None:
    dates = np.datetime64("2001-01-01T00", step) + np.arange(40)
    rows = "".join(f"{date.astype('datetime64[s]')},{k}\n" for k, date in enumerate(dates))
    (column,) = stream(tmp_path, "when,y\n" + rows, "y").encoder.columns
    assert column == Date("when", str(dates[0].astype("datetime64[D]")), *(part in cycles for part in ("day", "week", "year")))


def test_the_mean_of_a_value_is_that_of_the_rows_before(tmp_path: Path) -> None:
    """Random labels: a mean that knew a row's own label would agree with it."""
    rng = np.random.default_rng(0)
    Y, codes = rng.choice([-1.0, 1.0], (2000, 1)), rng.integers(300, size=2000)
    means, terms = TargetMeans.init(1), Terms(np.arange(2001), codes)
    found = means.learn(terms, Y)
    assert abs(np.corrcoef(found[:, 0], Y[:, 0])[0, 1]) < 4.0 / np.sqrt(2000)
    assert np.corrcoef(means.predict(terms)[:, 0], Y[:, 0])[0, 1] > 0.2  # as the leak would look


def test_the_words_of_a_text_have_means_too() -> None:
    column = Text("note", 8, labels=1)
    encoder, texts = Encoder((column,)), ["good good food", "bad food", "good", None] * 50
    whole = Table((), np.empty((200, 0)), {"note": strings(texts)}, {}, (Origin(200, 0, str),))
    Y = np.array([[1.0], [-1.0], [1.0], [0.0]] * 50)
    found = []
    for cuts in ((0, 200), (0, 1, 3, 77, 200)):
        state = encoder.init()
        pairs = [(whole[a:b], Y[a:b]) for a, b in itertools.pairwise(cuts)]
        found.append(np.concatenate([learnt(Encoder((column,), Missing.MEAN), state, part, y)[0] for part, y in pairs]))
        good, bad, none = encoder_means(state, column, ["good good", "bad", "unknown"])
        assert good > 0.5 > -0.5 > bad
        assert none == 0.0
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0][0, 8] == 0.0  # its own label is not yet known


def encoder_means(state: State, column: Text, texts: list[str]) -> list[float]:
    return [float(x) for x in state.means["note"].predict(column.terms(strings(texts)))[:, 0]]


def test_numbers_of_hours_and_minutes_are_times(tmp_path: Path) -> None:
    """A number such as 1430 in a column that is called a time is encoded as 14:30 is, unless the user says otherwise."""
    minutes = [k * 37 % 1440 if k % 13 else None for k in range(200)]

    def encoded(form: Callable[[int], str], **options: Any) -> tuple[Encoder, Matrix]:
        cells = ["" if k is None else form(k) for k in minutes]
        found = stream(tmp_path, "depTime,y\n" + "".join(f"{cell},1\n" for cell in cells), "y", missing="mean", **options)
        return found.encoder, next(iter(found))[0]

    numbers = encoded(lambda k: str(k // 60 * 100 + k % 60))
    times = encoded(lambda k: f"{k // 60}:{k % 60:02}")
    assert numbers[0].columns == (HourMinute("depTime", True),)
    assert times[0].columns == (Time("depTime", True),)
    assert numbers[1].tobytes() == times[1].tobytes()
    assert encoded(lambda k: str(k // 60 * 100 + k % 60), cycles={})[0].columns == (Number("depTime", True),)
    X = np.array([[2400.0, 0.0, 0.0]])
    HourMinute("depTime").write(X)
    np.testing.assert_allclose(X, [[86_400.0, 0.0, 1.0]], atol=1e-9)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("size", [100 * (k % 24) + k % 60 for k in range(100)]),  # not called a time
        ("time", list(range(100, 200))),
        ("time", [k % 60 for k in range(100)]),
        ("time", [100 * (k % 20) for k in range(100)]),  # too few to be sure
        ("time", [100 * (k % 40) + k % 60 for k in range(100)]),
        ("time", [100 * (k % 24) + k % 60 + 0.5 for k in range(100)]),
    ],
)
def test_other_numbers_are_no_clocks(name: str, numbers: list[float]) -> None:
    assert not is_clock(name, np.array(numbers, dtype=float))


GENRES = ["Comedy", "Drama", "Crime", "War", "Music", "Western", "Horror", "Sport"]


@pytest.mark.parametrize("mark", [", ", ";", "|"])
def test_lists_of_items_are_known_by_their_items(tmp_path: Path, mark: str) -> None:
    """A combination that never came before is known by its parts; towns that contain a comma are no lists."""
    rng = np.random.default_rng(0)
    lists = [mark.join(rng.choice(GENRES, size=1 + k % 3, replace=False)) for k in range(400)]
    towns = [f"Town {chr(97 + k % 20)}{chr(97 + k // 20 % 5)}, {'AB'[k % 2]}" for k in range(400)]
    rows = "".join(f'"{genres}","{town}",{"Drama" in genres:d}.5\n' for genres, town in zip(lists, towns, strict=True))
    found = stream(tmp_path, "genres,town,y\n" + rows, "y")
    assert [type(column) for column in found.encoder.columns] == [Text, Hashed]
    assert are_lists(sorted(set(lists)))
    assert not are_lists(sorted({genres.split(mark)[0] for genres in lists}))
    column, state = Text("genres", 256), ENCODER.init()
    X = np.zeros((3, 256))
    column.write(strings([mark.join(GENRES[:2]), mark.join(GENRES[1::-1]), GENRES[2]]), state, X, False)
    np.testing.assert_array_equal(X[0], X[1])
    assert not (X[0] * X[2]).any()


def test_months_and_weekdays_that_come_later_have_their_columns(tmp_path: Path) -> None:
    months = [datetime(2026, 1 + k // 100, 1).strftime("%b") for k in range(1200)]  # of which the first 1,000 rows show ten
    days = [datetime(2026, 3, 1 + k // 600 % 7).strftime("%A") for k in range(1200)]
    rows = "".join(f"{month},{day},{month}{k % 2},1\n" for k, (month, day) in enumerate(zip(months, days, strict=True)))
    found = stream(tmp_path, "month,day,code,y\n" + rows, "y", columns=["month", "day"])
    assert found.encoder.columns == (OneHot("month", 20), OneHot("day", 7))
    first = stream(tmp_path, "month,code,y\n" + "Jan,a,1\n" * 1000 + "Feb,b,1\n" * 9, "y")
    assert first.encoder.columns == (OneHot("month", 12), OneHot("code", 4))
