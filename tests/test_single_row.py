"""Single rows, which have a quick way: it gives the bits of the way through a table, and leaves everything unusual to that way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import InputError, Model
from onkel.state import copied
from tests.fuzz.interrupts import INTERRUPTIONS, Interrupter, traced

pytestmark = pytest.mark.once  # what compiled code computes here, the laws of its learners compare

rng = np.random.default_rng(0)
SIZES, AREAS, TOWNS = rng.uniform(20.0, 90.0, 300), rng.normal(size=300), rng.choice(["Bonn", "Ulm", "Kiel"], 300)
PRICES = 3.0 * SIZES + 40.0 * (TOWNS == "Ulm") + AREAS
LABELS = np.where(PRICES > 170.0, "high", "low")
MIXED = [
    {"size": size, "area": area, "town": str(town), "price": price}
    for size, area, town, price in zip(SIZES.tolist(), AREAS.tolist(), TOWNS, PRICES.tolist(), strict=True)
]
LETTERS = str.maketrans("0123456789", "abcdefghij")
GAPPY = [row | {name: None for name in ("size", "area") if k % 5 == len(name)} for k, row in enumerate(MIXED)]
LACKING = [{name: value for name, value in row.items() if k % 3 or name != "area"} for k, row in enumerate(MIXED)]
DATED = [
    row | {"when": datetime(2026, 1, 1) + timedelta(hours=7 * k), "hour": 7 * k % 24, "id": f"{k:03}".translate(LETTERS)}
    for k, row in enumerate(MIXED)
]
NUMBERS = np.column_stack([SIZES, AREAS])


def models() -> list[tuple[Model, list[Any]]]:
    """Models, and single rows for them: dicts, dicts beside their labels, arrays beside their labels."""
    bare = [{name: value for name, value in row.items() if name != "price"} for row in MIXED]
    return [
        (Model(target="price", learner=onkel.PKAWV()), MIXED),
        (Model(target="price", learner=onkel.PKAWV()), DATED),
        (Model(target="price", learner=onkel.PKAWV()), GAPPY),
        (Model(target="price", learner=onkel.PKAWV()), LACKING),
        (Model(learner=onkel.PKAWV(), task="regression"), list(zip(bare, PRICES.tolist(), strict=True))),
        (Model(learner=onkel.PKAWV(), task="regression"), list(zip(NUMBERS, PRICES.tolist(), strict=True))),
        (Model(learner=onkel.PKAWV(), task="classification"), list(zip(bare, map(str, LABELS), strict=True))),
        (Model(learner=onkel.NOGD(budget=20), task="classification"), list(zip(NUMBERS, map(str, LABELS), strict=True))),
        (Model(learner=onkel.Perceptron(), labels=("low", "high")), list(zip(bare, map(str, LABELS), strict=True))),
    ]


def begun(model: Model, rows: list[Any], count: int) -> Any:
    """A state that has learnt the first rows."""
    first = rows[:count]
    if isinstance(first[0], tuple):
        X, y = zip(*first, strict=True)
        table: Any = (np.array(X) if isinstance(X[0], np.ndarray) else list(X), list(y))
    else:
        table = first
    state = model.init(table)
    model.update(state, table)
    return state


def through_a_table(row: Any) -> Any:
    """The same row as a table of one."""
    if not isinstance(row, tuple):
        return [row]
    x, y = row
    return (x.reshape(1, -1) if isinstance(x, np.ndarray) else [x]), [y]


def without_label(row: Any) -> Any:
    return row[0] if isinstance(row, tuple) else {name: value for name, value in row.items() if name != "price"}


every = pytest.mark.parametrize(("model", "rows"), models(), ids=lambda given: "" if isinstance(given, list) else repr(given)[:60])


@every
def test_the_quick_way_gives_the_bits_of_a_table(model: Model, rows: list[Any]) -> None:
    quick = begun(model, rows, 40)
    slow = copied(quick)
    for row in rows[40:]:
        alone = without_label(row)
        expected = model.predict(slow, through_a_table((alone, 0))[0])
        assert model.scores_usual(quick, alone) is not None
        assert model.predict(quick, alone).tolist() == expected.tolist()
        assert model.update_usual(quick, row)
        model.update(slow, through_a_table(row))
    assert onkel.pack(model, quick) == onkel.pack(model, slow)


@every
def test_an_interrupt_leaves_the_state_before_the_row_or_after_it(model: Model, rows: list[Any]) -> None:
    start = begun(model, rows, 280)
    after = copied(start)
    model.update(after, rows[280])
    possible = onkel.pack(model, start), onkel.pack(model, after)
    rehearsal = Interrupter()
    traced(rehearsal, lambda: model.update(copied(start), rows[280]))
    for at in range(1, rehearsal.lines, max(1, rehearsal.lines // 25)):
        state = copied(start)
        interrupter = Interrupter(at, INTERRUPTIONS[at % len(INTERRUPTIONS)])
        if not traced(interrupter, lambda state=state: model.update(state, rows[280])):  # type: ignore[misc]
            assert onkel.pack(model, state) in possible, interrupter.place


UNUSUAL: dict[str, dict[str, Any]] = {
    "a gap": {"size": None},
    "not a number": {"size": float("nan")},
    "another town": {"town": "Köln"},
    "no town": {"town": None},
    "a town with blanks": {"town": " Ulm "},
    "a new key": {"garden": 1.0},
    "a number of another type": {"size": np.float32(40.0)},
    "no label": {"price": None},
    "no date": {"when": None},
    "a date with a zone": {"when": datetime(2026, 3, 1, tzinfo=UTC)},
    "a date as a string": {"when": "2026-03-01 12:00"},
    "no id": {"id": " "},
}


@pytest.mark.parametrize("changed", UNUSUAL.values(), ids=list(UNUSUAL))
def test_an_unusual_row_is_learnt_as_in_a_table(changed: dict[str, Any]) -> None:
    model = Model(target="price", learner=onkel.PKAWV())
    quick = begun(model, DATED, 60)
    slow, row = copied(quick), DATED[60] | changed
    lacking = {name: value for name, value in DATED[61].items() if name != "area"}
    for one in row, lacking, dict(reversed(DATED[62].items())):
        assert model.predict(quick, one).tolist() == model.predict(slow, [one]).tolist()
        model.update(quick, one)
        model.update(slow, [one])
    assert onkel.pack(model, quick) == onkel.pack(model, slow)


@pytest.mark.parametrize("changed", [{"size": "40"}, {"size": np.inf}, {"size": 1e60}, {"price": "cheap"}, {"price": 1e60}])
def test_a_bad_row_is_refused_as_in_a_table_and_changes_nothing(changed: dict[str, Any]) -> None:
    model = Model(target="price", learner=onkel.PKAWV())
    state = begun(model, MIXED, 60)
    before = onkel.pack(model, state)
    row = MIXED[60] | changed
    with pytest.raises(InputError) as quick:
        model.update(state, row)
    with pytest.raises(InputError) as slow:
        model.update(state, [row])
    in_block, in_stream = "row 0 (counted from 0)", "row 60 (counted from 0)"
    assert str(quick.value) == str(slow.value).replace(in_block, in_stream)
    assert onkel.pack(model, state) == before


def test_an_array_of_another_width_is_refused() -> None:
    model, rows = models()[5]
    state = begun(model, rows, 40)
    with pytest.raises(InputError, match="the row has 3 values, the rows before it had 2"):
        model.predict(state, np.ones(3))
    model, rows = models()[4]
    with pytest.raises(InputError, match="give the row as a dict"):
        model.predict(begun(model, rows, 40), np.ones(2))
