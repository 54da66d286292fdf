"""Columns that nobody knew of at first take spare ones, whatever the cut into blocks, and keep them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onkel
from onkel.cli.options import ColumnOptions, Inputs, TargetOptions
from onkel.data.table import Origin, Table, recut
from onkel.errors import InputError
from onkel.model import Encoder, Hashed, Missing, Number, read
from onkel.model.encodings import State
from onkel.model.stream import read_again
from onkel.model.target import Value

pytestmark = pytest.mark.once

ENCODER = Encoder((Number("a"),), "drop", spare=2)  # type: ignore[arg-type]
gaps = st.just(math.nan) | st.floats(-9, 9)
rows = st.lists(st.tuples(gaps, gaps, gaps, gaps), min_size=1, max_size=20)


def table(data: list[tuple[float, ...]]) -> Table:
    a, p, q, r = np.array(data).T
    return Table(("a",), a[:, None], {}, {}, (Origin(len(data), 0, str),), {"r": r, "p": p, "q": q})


@settings(max_examples=100, deadline=None, database=None)
@given(data=rows, block=st.integers(1, 20))
def test_late_columns_in_plain_python(data: list[tuple[float, ...]], block: int) -> None:
    state, places, crowded = ENCODER.init(), list[str](), 0
    X = np.concatenate([ENCODER.learn(state, part)[0] for part in recut([table(data)], block)])
    expected = []
    for a, *late in data:
        if math.isnan(a):
            continue
        x = [a, math.nan, math.nan]
        for name, value in zip("pqr", late, strict=True):
            if math.isnan(value):
                continue
            if name not in places and len(places) < 2:
                places.append(name)
            if name in places:
                x[1 + places.index(name)] = value
            else:
                crowded += 1
        expected.append(x)
    np.testing.assert_array_equal(X, np.array(expected).reshape(-1, 3))
    assert (state.late, state.crowded) == (places, crowded)
    ENCODER.check(State.from_json(json.loads(json.dumps(state.to_json()))))


@settings(max_examples=60, deadline=None, database=None)
@given(data=rows)
def test_predict_sees_what_learn_would(data: list[tuple[float, ...]]) -> None:
    state, whole = ENCODER.init(), table(data)
    for k in range(len(data)):
        before = ENCODER.predict(state, whole[k:])[0]
        if len(learnt := ENCODER.learn(state, whole[k : k + 1])[0]):
            np.testing.assert_array_equal(before[0], learnt[0])


def test_a_forged_state_is_refused() -> None:
    forged: list[Any] = [["p", "p"], ["p", "q", "r"], [3]]
    for late in forged:
        state = ENCODER.init()
        state.late, state.marked = late, [None] * len(late)
        with pytest.raises(InputError, match="not one of this encoder"):
            ENCODER.check(state)
    with pytest.raises(InputError, match="spare must be at least 0"):
        Encoder((Number("a"),), spare=-1)


def written(folder: Path, late: list[dict[str, Any]]) -> Path:
    first = [{"a": k, "b": 1, "y": k} for k in range(1000)]
    (folder / "t.jsonl").write_text("\n".join(json.dumps(row) for row in first + late))
    return folder / "t.jsonl"


def test_late_keys_of_json_lines(tmp_path: Path) -> None:
    late: list[dict[str, Any]] = [{"a": 1, "b": 7, "y": 2, "z": 5, "w": "word"}, {"a": 1, "y": 2, "v": 0.5, "u": True, "b": 2}]
    path = written(tmp_path, late)
    stream = read(path, "y", without=["b"], spare=3, block=700)
    X = np.concatenate([X for X, _ in stream])
    np.testing.assert_array_equal(X[:1000, 1:], 0.0)
    np.testing.assert_array_equal(X[1000:], [[1, 1, 5, 0], [1, 0, 0, 1]])
    assert stream.encoder.names(stream.state) == ["a", "w=word", "z", "u"]
    assert [note for note in stream.notes() if "rises along the rows" not in note] == [
        "'w=word' came late and took a spare column",
        "'z' came late and took a spare column",
        "'u' came late and took a spare column",
        "1 value of 'v' was not used: too late for a column of their own; keep columns free: spare=6 (--spare 6)",
    ]
    other = tmp_path / "new.jsonl"
    other.write_text('{"z": 4, "a": 3, "b": 5, "y": 1}\n{"a": 3, "u": 2}\n')  # known from the start here, and yet late
    again = read_again(other, stream.encoder, None)
    np.testing.assert_array_equal(
        stream.encoder.predict(stream.state, next(again.tables()))[0], [[3, 0, 4, np.nan], [3, 0, np.nan, 2]]
    )
    learnt = read_again(path, stream.encoder, Value("y"))
    state = stream.encoder.init()
    encoded = np.concatenate([stream.encoder.learn(state, table)[0] for table in learnt.tables_after(900, lambda table: None)])
    np.testing.assert_array_equal(np.nan_to_num(encoded), X[900:])


def test_late_keys_must_be_finite(tmp_path: Path) -> None:
    path = written(tmp_path, [{"a": 1, "b": 1, "y": 2, "z": 10**400}])
    assert sum(len(y) for _, y in read(path, "y")) == 1001
    with pytest.raises(InputError, match=r"line 1001, key 'z': '1000.*' is not finite"):
        list(read(path, "y", spare=1))


def test_room_is_asked_for_on_the_command_line(tmp_path: Path) -> None:
    path = written(tmp_path, [])
    inputs = Inputs((str(path),), columns=ColumnOptions(hash="b", spare=3), target=TargetOptions(target="y"))
    stream = inputs.model(onkel.PKAWV()).open(inputs.path, inputs.reading)
    assert stream.encoder == Encoder((Number("a"), Hashed("b", labels=1)), Missing.MEAN, spare=3, ignored=("y",))


# --- dicts whose keys and values come when they like


def model(**settings: Any) -> onkel.Model:
    return onkel.Model(target="y", learner=onkel.PKAWV(onkel.Taylor(1)), **settings)


def towns(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Rows whose label depends on the string alone. The first ones do not have it."""
    names, rng = ["Bonn", "Ulm", "Köln"], np.random.default_rng(5)
    found = []
    for k in range(count):
        town = names[int(rng.integers(3))]
        row = {"a": float(rng.normal()), "town": town if k >= first else None, "y": float(names.index(town) ** 2)}
        found.append(row if k % 2 or k >= first else {key: value for key, value in row.items() if key != "town"})
    return found


def share_missed(answers: Any, given: list[dict[str, Any]]) -> float:
    """The mean error relative to that of the labels' mean."""
    y = np.array([row["y"] for row in given])
    return float(np.mean(np.abs(answers - y)) / np.mean(np.abs(y - y.mean())))


@pytest.mark.parametrize("nothing", [None, math.nan, " "])
@pytest.mark.parametrize(("first", "next"), [("Bonn", "Ulm"), (3.0, 4), ("2026-11-16", "2026-11-17"), ("12:30", "13:00")])
def test_the_first_value_decides_what_a_key_holds(nothing: Any, first: Any, next: Any) -> None:
    """As the first value would have done, if it had been in the first row."""
    one = model()
    state, known = one.init({"a": 1.0, "b": nothing, "y": 1.0}), one.init({"a": 1.0, "b": first, "y": 1.0})
    for value in (nothing, first, next, nothing, first):
        one.learn(state, {"a": 2.0, "b": value, "y": 3.0})
    kinds = [(column.name, type(column)) for column in state.encoder.columns]
    assert kinds == [(column.name, type(column)) for column in known.encoder.columns]
    assert not one.notes(state)
    again, same = onkel.unpack(onkel.pack(one, state))
    assert again.predict(same, {"a": 2.0, "b": next}) == one.predict(state, {"a": 2.0, "b": next})


def test_rows_may_begin_without_any_value() -> None:
    one = model()
    state = one.init({"a": None, "b": None, "y": 1.0})
    answers = [one.learn(state, row)[0] for row in [{"a": None, "y": 1.0}, *towns(200)]]
    assert share_missed(answers[101:], towns(200)[100:]) < 0.25
    assert [column.name for column in state.encoder.columns] == ["a", "town"]


def test_a_string_that_comes_late_is_learnt_however_rows_are_handed_over() -> None:
    given = towns(400, first=40)
    one = model()
    whole, pieces, rows = (one.init(given[:10]) for _ in range(3))
    answers = one.learn(whole, given)
    parts = np.concatenate([one.learn(pieces, given[k : k + 7]) for k in range(0, 400, 7)])
    singles = []
    for row in given:  # the quick way for single rows, too
        singles.append(one.predict(rows, row)[0])
        one.update(rows, row)
    np.testing.assert_allclose(answers, parts, rtol=0, atol=1e-9)
    del singles[40]  # the row that brings the key: when it is learnt, the kernel's width is that of more columns
    np.testing.assert_allclose(np.delete(answers, 40), singles, rtol=0, atol=1e-9)
    assert (whole.encoder, whole.encoded) == (pieces.encoder, pieces.encoded) == (rows.encoder, rows.encoded)
    assert share_missed(answers[200:], given[200:]) < 0.25


def test_values_get_columns_as_they_come() -> None:
    """One row shows one value; the later ones must not share a column. Their number is bounded all the same."""
    one = model()
    state = one.init({"t": "v0", "y": 0.0})
    given: list[dict[str, Any]] = [{"t": f"v{k % 20}", "y": float(k % 20)} for k in range(200)]
    answers = one.learn(state, given)
    pieces = one.init({"t": "v0", "y": 0.0})
    np.testing.assert_allclose(answers, [one.learn(pieces, row)[0] for row in given], rtol=0, atol=1e-9)
    assert state.encoder == pieces.encoder
    assert sorted(state.encoded.values["t"]) == sorted({row["t"] for row in given})
    assert not one.notes(state)
    assert share_missed(answers[-20:], given[-20:]) < 0.4
    many = one.init({"t": "v0", "y": 0.0})
    one.learn(many, [{"t": f"v{k}", "y": 1.0} for k in range(250)])
    assert many.encoder.width == 64
    assert one.notes(many) == [
        "186 values of 't' came too late for a column of their own and share one; hash them all: hashed=['t'] (--hash t)"
    ]


def test_a_late_string_takes_a_spare_column_for_each_value() -> None:
    one, given = model(spare=3), towns(600, first=300)
    state, pieces = one.init(given[:5]), one.init(given[:5])
    answers = one.learn(state, given)
    np.testing.assert_allclose(answers, [one.learn(pieces, row)[0] for row in given], rtol=0, atol=1e-9)
    assert sorted(state.encoder.names(state.encoded)) == ["a", "town=Bonn", "town=Köln", "town=Ulm"]
    assert share_missed(answers[400:], given[400:]) < 0.25
    again, same = onkel.unpack(onkel.pack(one, state))
    assert again.predict(same, given[-1]) == one.predict(state, given[-1])
    without = model()
    lost = without.init(given[:5])
    without.learn(lost, given)
    assert without.notes(lost) == [
        "300 values of 'town' were not used: too late for a column of their own; keep columns free: spare=8 (--spare 8)"
    ]


def test_an_estimator_learns_none_new_and_vanished_keys() -> None:
    estimator = onkel.Classifier(onkel.PKAWV(onkel.Taylor(1)))
    rows: list[dict[str, Any]] = [{"a": None, "b": 1.0}, {"a": "x"}, {"b": 2.0, "c": "new"}, {}, {"a": "y", "c": None}]
    for k in range(60):
        estimator.learn_one(rows[k % 5], "yes" if k % 5 == 2 else "no")
    assert [estimator.predict_one(row) for row in rows] == ["no", "no", "yes", "no", "no"]
    filled = "36 missing values of 'b' were filled in; missing='refuse' (--missing refuse) stops at the first"
    assert estimator.notes_ == [filled]  # of keys that were there from the start
