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
        state.late = late
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
    stream = read(path, "y", without=["b"], spare=2, block=700)
    X = np.concatenate([X for X, _ in stream])
    np.testing.assert_array_equal(X[:1000, 1:], 0.0)
    np.testing.assert_array_equal(X[1000:], [[1, 5, 0], [1, 0, 1]])
    assert stream.encoder.names(stream.state) == ["a", "z", "u"]
    assert [note for note in stream.notes() if "rises along the rows" not in note] == [
        f"the key 'w', which first appears in {path}, line 1001, is not used: such a late key may hold only numbers",
        "'z' came late and took a spare column",
        "'u' came late and took a spare column",
        "1 number was passed over, for no spare column was left; keep more: spare=4 (--spare 4)",
    ]
    other = tmp_path / "new.jsonl"
    other.write_text('{"z": 4, "a": 3, "b": 5, "y": 1}\n{"a": 3, "u": 2}\n')  # known from the start here, and yet late
    again = read_again(other, stream.encoder, None)
    np.testing.assert_array_equal(stream.encoder.predict(stream.state, next(again.tables()))[0], [[3, 4, np.nan], [3, np.nan, 2]])
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
