"""What each column is worth to a model, measured in two ways on the first rows of a stream.

By permutation: a new model learns the first half of the rows. The second half is learnt in blocks; before a block is learnt, the
model answers it as it is, and once for each column with the values of that column exchanged at random among the rows of the second
half. So every answer is for rows that the model has not learnt yet, and the model itself never learns an exchanged value. Answers
use no earlier labels. The importance of a column is the rise of the error: what the model, as it is, draws from the column.

By leaving it out: a new model learns the same rows without the column, each row scored before it is learnt. The importance is again
the rise of the error: what cannot be made up for by other columns or earlier labels.

The two differ where columns say the same: permuting either of two equal columns hurts, leaving either out does not. Of strongly
correlated columns one alone may seem worth nothing either way, since another stands in for it. Therefore such columns are also
measured together: permuted alike, and left out together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onkel._jit import clock
from onkel._types import Vector
from onkel.data.table import Strings, Table, joined
from onkel.measure.correlation import correlated
from onkel.measure.engine import Evaluation
from onkel.measure.errors import headline_of
from onkel.model import Model, State, Stream
from onkel.model.answers import spread

BLOCK = 512  # rows that are answered, then learnt, in the second half
LEAST_ROWS = 200
MOST_COLUMNS = 200  # with more columns nothing is measured
SEED = 0

Progress = Callable[[str], None]
Names = tuple[str, ...]  # of the columns that are permuted, or left out, together


@dataclass(frozen=True)
class Together:
    """Strongly correlated columns, measured as if they were one."""

    names: tuple[str, ...]
    correlation: float  # each column has at least this absolute rank correlation with another one of them
    permuted: float  # the error with all of them permuted, by the same permutation
    without: float | None  # the error without all of them; None if there was no time, or if there are no other columns


@dataclass(frozen=True, repr=False)
class Importance:
    """Errors are in the metric by which pictures show the run: the rms error, or the share of mistakes."""

    names: tuple[str, ...]  # the columns, the most important by permutation first
    learnt: int  # rows that were learnt before the first answer
    scored: int  # rows whose answers count
    error: float  # of these answers
    permuted: dict[str, float]  # the same with one column permuted
    rows: int  # rows on which columns were left out
    whole: float  # the error on these rows with all columns, each row scored before it is learnt
    without: dict[str, float]  # the same without one column; columns for which there was no time are absent
    seconds: float  # the time limit
    in_time: bool  # whether all was measured within it
    together: tuple[Together, ...] = ()  # groups of strongly correlated columns

    def __repr__(self) -> str:
        first = self.names[0] if self.names else "no column"
        return f"<Importance of {len(self.names):,} columns on {self.rows:,} rows, the most important {first}>"


@dataclass(frozen=True)
class NotMeasured:
    """Why there is no importance."""

    reason: str


def importance(
    model: Model, stream: Stream, rows: Sequence[Table], whole: float, seconds: float, progress: Progress = lambda said: None
) -> Importance | NotMeasured:
    """The importance of each column of a stream, on these rows, within about so many seconds.

    model     The model, of which new states are made.
    stream    The stream that the rows come from.
    rows      Its first rows.
    whole     The model's error on these rows, each scored before it was learnt.
    seconds   No new measurement begins after this time.
    progress  Called with what is done next.
    """
    columns = [column.name for column in stream.encoder.columns if column.width]
    if (count := sum(map(len, rows))) < LEAST_ROWS:
        return NotMeasured(f"it takes at least {LEAST_ROWS} rows")
    if len(columns) > MOST_COLUMNS:
        return NotMeasured(f"there are {len(columns):,} columns, more than {MOST_COLUMNS}")
    if len(columns) != len(set(columns)):
        return NotMeasured("several columns have the same name")
    until = clock() + seconds
    table = joined(list(rows))
    if not isinstance(table.numbers, np.ndarray):
        table = dataclasses.replace(table, numbers=np.asarray(table.numbers.toarray()))
    groups = correlated(table, columns)
    sets: list[Names] = [*((name,) for name in columns), *(group.names for group in groups)]
    if (permuted := _permuted(model, stream, table, sets, until, progress)) is None:
        return NotMeasured(f"{seconds:g} s were not enough to learn half of the first {count:,} rows")
    errors = {names: one.error for names, one in permuted.of.items()}
    order = sorted((names for names in sets if len(names) < len(columns)), key=lambda names: -errors[names])
    without = _without(model, stream, table, order, until, progress)
    return Importance(
        names=tuple(sorted(columns, key=lambda name: -errors[name,])),
        learnt=len(table) // 2,
        scored=permuted.own.rows,
        error=permuted.own.error,
        permuted={name: errors[name,] for name in columns},
        rows=len(table),
        whole=whole,
        without={name: without[name,] for (name, *others) in order if not others and (name,) in without},
        seconds=seconds,
        in_time=permuted.is_complete and len(without) == len(order),
        together=tuple(Together(*group, errors[group.names], without.get(group.names)) for group in groups),
    )


@dataclass
class _Losses:
    """The sum of losses: square errors, or mistakes."""

    of_mistakes: bool
    total: float = 0.0
    rows: int = 0

    def add(self, predicted: Vector, actual: Vector) -> None:
        there = ~(np.isnan(predicted) | np.isnan(actual))
        apart = predicted[there] - actual[there]
        self.total += float(np.count_nonzero(apart) if self.of_mistakes else np.sum(apart**2))
        self.rows += int(np.count_nonzero(there))

    @property
    def error(self) -> float:
        mean = self.total / max(1, self.rows)
        return mean if self.of_mistakes else float(np.sqrt(mean))


@dataclass
class _Permuted:
    own: _Losses
    of: dict[Names, _Losses] = field(default_factory=dict)
    is_complete: bool = True


def _permuted(
    model: Model, stream: Stream, table: Table, sets: Sequence[Names], until: float, progress: Progress
) -> _Permuted | None:
    """Learn the first half, then score and learn the second; None if the time is over before anything is scored."""
    state, half = model.begin(stream), len(table) // 2
    progress("learning the first half of the rows")
    for start in range(0, half, stream.block):
        model.answer(state, table[start : min(half, start + stream.block)])
        if clock() > until:
            return None
    of_mistakes = state.target.task == "classification"
    found = _Permuted(_Losses(of_mistakes), {names: _Losses(of_mistakes) for names in sets})
    order = half + np.random.default_rng(SEED).permutation(len(table) - half)
    for start in range(half, len(table), BLOCK):
        if clock() > until:
            found.is_complete = False
            break
        progress(f"exchanging the values of columns, row {start:,}")
        block, others = table[start : start + BLOCK], order[start - half : start - half + BLOCK]
        before = {names: _codes(model, state, with_columns(block, table, names, others)) for names in sets}
        own = _codes(model, state, block)
        answers = model.answer(state, block)
        actual = spread(answers.actual.astype(float), answers.kept)
        found.own.add(own, actual)
        for names, codes in before.items():
            found.of[names].add(codes, actual)
    return found if found.own.rows else None


def _codes(model: Model, state: State, table: Table) -> Vector:
    """The code of the answer for each row, without earlier labels; NaN for rows that have none."""
    scores, kept = model.scores_any(state, table)
    return spread(state.target.predicted_codes(scores).astype(float), kept)


def with_columns(block: Table, table: Table, names: Names, rows: NDArray[np.int64]) -> Table:
    """The block with these columns taken from these rows of the table."""
    for name in names:
        block = with_column(block, table, name, rows)
    return block


def with_column(block: Table, table: Table, name: str, rows: NDArray[np.int64]) -> Table:
    """The block with one column taken from these rows of the table."""
    if name in block.strings:
        column = table.strings[name]
        return dataclasses.replace(block, strings={**block.strings, name: Strings(column.codes[rows], column.values)})
    if name in block.dates:
        return dataclasses.replace(block, dates={**block.dates, name: table.dates[name][rows]})
    numbers = block.numbers.copy()
    numbers[:, block.names.index(name)] = table.numbers[rows, table.names.index(name)]
    return dataclasses.replace(block, numbers=numbers)


def _without(
    model: Model, stream: Stream, table: Table, sets: Sequence[Names], until: float, progress: Progress
) -> dict[Names, float]:
    """The error without the columns of each set, as long as there is time."""
    found: dict[Names, float] = {}
    for names in sets:
        if clock() > until:
            break
        progress(f"learning without {', '.join(names)}")
        left = tuple(column for column in stream.encoder.columns if column.name not in names)
        less = dataclasses.replace(stream, encoder=dataclasses.replace(stream.encoder, columns=left))
        evaluation = Evaluation.begin(model, less)
        for start in range(0, len(table), stream.block):
            evaluation.learn(table[start : start + stream.block])
            if clock() > until:
                return found
        found[names] = next(iter(headline_of(evaluation.errors).values()))
    return found
