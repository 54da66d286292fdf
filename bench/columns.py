"""What the encodings of columns are worth: the error of `Auto` and of a linear ridge with them, and with the plain ones before.

Plain: numbers as they are, strings of many values and texts hashed into 64 columns, dates as cycles without a trend.

    python bench/columns.py                                   # the named sets with dates, hours or months
    python bench/columns.py flights.csv=arr_delay 20000       # a file and its target; at most so many rows
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

import onkel
from onkel._types import Matrix
from onkel.data.table import Dates
from onkel.measure import Evaluation
from onkel.model import Cycle, Date, Hashed, LeftOut, Model, Number, Stream, Text
from onkel.model.encodings import Column, State

SETS = ("bike=y", "household_power=y", "elec2=y", "AirlinePassengers=target", "TrumpApproval=target", "WaterFlow=target")
LEARNERS = {"ridge": onkel.PKAWV(onkel.Identity() + onkel.Constant()), "PKAWV": onkel.PKAWV(), "Auto": onkel.Auto(lags=3)}
ROWS = 20_000


class Cycles(Date):
    """A date without its trend."""

    @property
    def width(self) -> int:
        return super().width - 1

    def names(self, state: State) -> list[str]:
        return super().names(state)[1:]

    def write(self, column: Dates, state: State, X: Matrix, learning: bool) -> None:
        with_trend = np.zeros((len(X), super().width))
        super().write(column, state, with_trend, learning)
        X[:] = with_trend[:, 1:]


def plain(column: Column) -> Column:
    """The encoding that the column had before."""
    if isinstance(column, Cycle):
        return Number(column.name, column.indicator)
    if isinstance(column, Date):
        return Cycles(**vars(column))
    if isinstance(column, Hashed | Text | LeftOut):
        return Hashed(column.name, 64, 0, column.indicator)
    return column


def error(model: Model, stream: Stream, rows: int) -> float:
    """The root of the mean square error, or the share of mistakes."""
    evaluation = Evaluation.begin(model, stream)
    for table in stream.tables():
        evaluation.learn(table[: rows - evaluation.state.rows])
        if evaluation.state.rows >= rows:
            break
    return float(next(iter(evaluation.errors.means().values())))


def main() -> None:
    given = [word for word in sys.argv[1:] if "=" in word] or SETS
    rows = next((int(word) for word in sys.argv[1:] if word.isdecimal()), ROWS)
    print(f"{'':24}" + "".join(f"{name:>10}{'plain':>10}{'ratio':>7}" for name in LEARNERS))
    for source in given:
        path, _, target = source.rpartition("=")
        line = f"{path.rpartition('/')[2]:24}"
        for learner in LEARNERS.values():
            model = Model(target=target, learner=learner)
            stream = model.open(path)
            before = dataclasses.replace(stream.encoder, columns=tuple(map(plain, stream.encoder.columns)))
            now, then = (error(model, dataclasses.replace(stream, encoder=used), rows) for used in (stream.encoder, before))
            line += f"{now:10.4g}{then:10.4g}{now / then:7.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
