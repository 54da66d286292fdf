"""What the encodings of columns gain: the error of `Auto` and of a linear ridge with these encodings, and with plain ones.

The plain encodings are: numbers as they are, strings of many values and texts hashed into 64 columns, dates as cycles without a
trend. A learner that draws random numbers runs with several seeds. Then the error is the mean over the seeds, and the ratio is
given with ± its standard error.

    python bench/columns.py                                   # the named sets with dates, hours or months
    python bench/columns.py flights.csv=arr_delay 20000       # a file and its target; at most so many rows
    python bench/columns.py --scales                          # the same encodings, standardised in several ways
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel._types import Matrix
from onkel.combine.settings import reseeded
from onkel.data.table import Dates
from onkel.measure import Evaluation
from onkel.model import Cycle, Date, Hashed, HourMinute, LeftOut, Model, Number, Stream, Text
from onkel.model.encodings import Column, State

SETS = ("bike=y", "household_power=y", "elec2=y", "AirlinePassengers=target", "TrumpApproval=target", "WaterFlow=target")
LEARNERS: dict[str, Any] = {
    "ridge": onkel.PKAWV(onkel.Identity() + onkel.Constant()),
    "PKAWV": onkel.PKAWV(),
    "Auto": onkel.Auto(lags=3),
}
ROWS, SEEDS = 20_000, 5


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
    """The plain encoding of a column."""
    if isinstance(column, Cycle | HourMinute):
        return Number(column.name, column.indicator)
    if isinstance(column, Date):
        return Cycles(**vars(column))
    if isinstance(column, Hashed | Text | LeftOut):
        return Hashed(column.name, 64, 0, column.indicator)
    return column


def error(model: Model, stream: Stream, rows: int) -> float:
    """The mean square error, or the share of mistakes."""
    evaluation = Evaluation.begin(model, stream)
    for table in stream.tables():
        evaluation.learn(table[: rows - evaluation.state.rows])
        if evaluation.state.rows >= rows:
            break
    return float(next(iter(evaluation.errors.means().values())))


def ratios(stream: Stream, target: str, learner: Any, rows: int) -> str:
    """The mean error with the encodings and with the plain ones, and the mean ratio."""
    before = dataclasses.replace(stream.encoder, columns=tuple(map(plain, stream.encoder.columns)))
    seeds = range(SEEDS) if reseeded(learner, 1) != learner else range(1)
    models = [Model(target=target, learner=reseeded(learner, seed)) for seed in seeds]
    now, then = (
        np.array([error(model, dataclasses.replace(stream, encoder=used), rows) for model in models])
        for used in (stream.encoder, before)
    )
    ratio = now / then
    spread = f" ± {ratio.std(ddof=1) / np.sqrt(len(ratio)):.2f}" if len(ratio) > 1 else ""
    return f"{now.mean():10.4g}{then.mean():10.4g}{f'{ratio.mean():.2f}{spread}':>13}"


def scaled(X: Matrix, kept: NDArray[np.bool_], by_all: bool) -> Matrix:
    """X with each row standardised by the rows up to it (`by_all`: by all rows), except for the columns that are `kept`."""
    count = np.arange(1.0, len(X) + 1.0)[:, None]
    mean, square = (X.mean(0), (X * X).mean(0)) if by_all else (np.cumsum(X, 0) / count, np.cumsum(X * X, 0) / count)
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    Z = np.where(deviation > 1e-12, (X - mean) / np.maximum(deviation, 1e-12), 0.0)
    return np.where(kept, X, Z)


def fixed_scales(X: Matrix) -> Matrix:
    """X standardised by the rows so far until row 256, and by the first 256 rows from then on."""
    mean, deviation = X[:256].mean(0), X[:256].std(0)
    later = np.where(deviation > 1e-12, (X[256:] - mean) / np.maximum(deviation, 1e-12), 0.0)
    return np.concatenate([scaled(X[:256], np.zeros(X.shape[1], dtype=bool), False), later])


def scales(path: str, target: str, rows: int) -> None:
    """The root of the mean square error of learners for numbers, on the same columns of X standardised in several ways."""
    stream = onkel.read(path, target, missing="mean")
    blocks = list(stream)
    X, y = np.concatenate([X for X, _ in blocks])[:rows], np.concatenate([y for _, y in blocks])[:rows]
    names = stream.encoder.names(stream.state)
    ones = np.array([name.endswith(" is missing") or "=" in name or "#" in name for name in names])  # columns of 0 and 1, or hashed
    with_waves = {name.partition(": sine of")[0] for name in names if ": sine of" in name}
    cycles = np.array([name in with_waves for name in names])
    none, unit = np.zeros(len(names), dtype=bool), (y - y[:256].mean()) / y[:256].std()
    ways = {
        "by rows so far": scaled(X, none, False), "by all rows": scaled(X, none, True), "by first 256": fixed_scales(X), "raw": X,
        "but strings": scaled(X, ones, False), "but cycles": scaled(X, cycles, False),
    }  # fmt: skip
    for name, learner in LEARNERS.items():
        if not isinstance(learner, onkel.Auto):  # which scales by itself
            found = {way: np.mean((learner.learn(learner.init(Z.shape[1]), Z, unit) - unit) ** 2) for way, Z in ways.items()}
            print(f"{path.rpartition('/')[2] + ' ' + name:28}" + "".join(f"{y[:256].std() * e**0.5:16.4g}" for e in found.values()))


def main() -> None:
    given = [word for word in sys.argv[1:] if "=" in word] or SETS
    rows = next((int(word) for word in sys.argv[1:] if word.isdecimal()), ROWS)
    if "--scales" in sys.argv:
        print(
            f"{'':28}"
            + "".join(f"{way:>16}" for way in ("by rows so far", "by all rows", "by first 256", "raw", "but strings", "but cycles"))
        )
        for source in given:
            path, _, target = source.rpartition("=")
            scales(path, target, rows)
        return
    print(f"{'':24}" + "".join(f"{name:>10}{'plain':>10}{'ratio':>13}" for name in LEARNERS))
    for source in given:
        path, _, target = source.rpartition("=")
        stream = Model(target=target).open(path)
        columns = "".join(ratios(stream, target, learner, rows) for learner in LEARNERS.values())
        print(f"{path.rpartition('/')[2]:24}{columns}", flush=True)


if __name__ == "__main__":
    main()
