"""Tables and arrays in memory, with their labels in them or beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

from onkel.errors import InputError
from onkel.model import read
from onkel.model.target import Signs

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

pytestmark = pytest.mark.once

NUMBERS = np.arange(6.0)
LABELS = ["no", "yes", "no", "no", "yes", "no"]
SIGNS = [-1, 1, -1, -1, 1, -1]
TABLES: dict[str, Any] = {
    "pandas": lambda: pandas.DataFrame({"a": NUMBERS}),
    "polars": lambda: polars.DataFrame({"a": NUMBERS}),
    "pyarrow": lambda: pyarrow.table({"a": NUMBERS}),
    "array": lambda: NUMBERS[:, None],
}
SEQUENCES: dict[str, Any] = {
    "list": list,
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "pandas": pandas.Series,
    "polars": polars.Series,
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_labels_beside_a_table(table: str, sequence: str) -> None:
    ((X, y),) = read(TABLES[table](), SEQUENCES[sequence](LABELS))
    np.testing.assert_array_equal(X[:, 0], NUMBERS)
    np.testing.assert_array_equal(y, SIGNS)
    ((_, y),) = read(TABLES[table](), SEQUENCES[sequence](NUMBERS.tolist()))
    np.testing.assert_array_equal(y, NUMBERS)


def test_labels_that_do_not_fit() -> None:
    frame = TABLES["pandas"]()
    assert read(frame, pandas.Series(LABELS, name="sold")).target.name == "sold"
    np.testing.assert_array_equal(next(iter(read(frame, [*LABELS[:5], None], missing="drop")))[1], SIGNS[:5])
    with pytest.raises(InputError, match=r"one label for each of the 6 rows, got shape \(2,\)"):
        read(frame, LABELS[:2])
    with pytest.raises(InputError, match=r"has a column 'a', and labels of that name were given too; say target='a'"):
        read(frame, frame["a"])
    with pytest.raises(InputError, match=r"y must hold numbers or strings, got int and str; convert it"):
        read(frame, np.array([1, *LABELS[1:]], dtype=object))
    with pytest.raises(InputError, match=r"X has no column 'y'; .*labels of an array are given separately: read\(X, y\)"):
        read(NUMBERS[:, None])


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["yes", "maybe", "no"])])
def test_categories_of_polars(kind: Any) -> None:
    frame = polars.DataFrame({"a": NUMBERS, "c": polars.Series([*LABELS[:5], None], dtype=kind)})
    X = np.concatenate([X for X, _ in read(frame, "a", missing="mean", block=4)])
    np.testing.assert_array_equal(X[:, :2], [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1], [0, 0]])
    assert read(frame[3:5], "c").target == Signs("c", "no", "yes")


def test_tables_of_pandas() -> None:
    numbered = pandas.DataFrame(np.arange(12.0).reshape(4, 3), index=[7, 3, 5, 9])
    stream = read(numbered, 2)
    assert stream.names == ("0", "1")  # and no index among them
    np.testing.assert_array_equal(next(iter(stream))[1], [2, 5, 8, 11])
    assert read(numbered, 2, columns=[1]).names == ("1",)
    with pytest.raises(InputError, match=r"the pandas DataFrame: two columns are named 'a'; rename one"):
        read(pandas.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "a")
    mixed = pandas.DataFrame({"a": NUMBERS, "b": NUMBERS, "c": [1, "x"] * 3})
    with pytest.raises(InputError, match=r"column 'c' mixes types .*; convert it, as in frame\['c'\]\.astype\(str\), or leave"):
        read(mixed, "a")
    assert read(mixed, "a", without=["c"]).names == ("b",)


def test_a_table_that_is_not_there_yet() -> None:
    with pytest.raises(InputError, match=r"a LazyFrame has no rows yet; give table\.collect\(\)"):
        read(polars.LazyFrame({"a": NUMBERS}), "a")


def test_labels_of_an_npz_file_may_be_strings(tmp_path: Any) -> None:
    np.savez(tmp_path / "t.npz", X=NUMBERS[:, None], y=np.array(LABELS))
    ((X, y),) = read(tmp_path / "t.npz")
    np.testing.assert_array_equal(X[:, 0], NUMBERS)
    np.testing.assert_array_equal(y, SIGNS)
