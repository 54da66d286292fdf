"""The rows of a source in another order, and the first of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel.data import Order
from onkel.model import read

pytestmark = pytest.mark.once

ROWS = 5000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    lines = [f"{k},{'abc'[k % 3] if k % 5 else ''},2026-01-{1 + k % 28:02},{2 * k}" for k in range(ROWS)]
    path.write_text("\n".join(["x,kind,day,y", *lines]) + "\n")
    return path


def labels(stream: onkel.model.Stream) -> list[float]:
    return [label for _, y in stream for label in y.tolist()]


@pytest.mark.parametrize("rows", [None, 4100, 3, 10 * ROWS])
def test_rows_come_in_the_order_that_was_asked_for(file: Path, rows: int | None) -> None:
    own = np.arange(0.0, 2.0 * ROWS, 2.0)
    shuffled = read(file, "y", missing="mean", order=Order(3, rows))
    assert labels(shuffled) == labels(shuffled) == own[np.random.default_rng(3).permutation(ROWS)][:rows].tolist()
    assert shuffled.rows == len(own[:rows])
    first = read(file, "y", missing="mean", order=Order(rows=rows))
    assert labels(first) == own[:rows].tolist()
    for X, y in shuffled:
        assert np.array_equal(X[:, 0], y / 2.0), "the cells of a row stay together"
        break


def test_an_error_names_the_line_of_the_file(file: Path) -> None:
    with pytest.raises(onkel.InputError, match=r"t\.csv, line \d+, column 'kind': the value is missing") as error:
        labels(read(file, "y", order=Order(0)))
    line = int(str(error.value).split("line ")[1].split(",")[0])
    assert file.read_text().splitlines()[line - 1].split(",")[1] == ""


def test_impossible_orders_are_refused() -> None:
    for settings, message in (({"seed": -1}, "at least 0, got -1"), ({"rows": 0}, "at least 1, got 0")):
        with pytest.raises(onkel.InputError, match=message):
            Order(**settings)
