"""Turns a table into X: the columns of each encoding (`encodings.py`), then spare columns for keys that appear later (`spare.py`).

A missing value is an error, or its row is
dropped, or it stays a gap (see `Missing`): NaN in the column of a number and in the trend of a date, zeros elsewhere, and 1 in an
indicator. Gaps are filled later, with the mean of the column so far: by `Scaled` around the learner, or by `Means`. The blocks (X,
y) of a `Stream` have 0 in the gaps of spare columns.

The verbs are those of a learner: `learn` records values and counts, `learn_labels` the labels of the same rows, `predict` encodes a
row as if it came next. A row is encoded only by what came before it, so it does not matter how the stream is cut into blocks.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix, Vector
from onkel._validate import flag, whole
from onkel.data.columns import leave_out
from onkel.data.records import Records
from onkel.data.table import Kind, Table
from onkel.errors import InputError
from onkel.model.encodings import LARGEST_ROOM, Column, Date, Hashed, LeftOut, OneHot, State, Text
from onkel.model.numeric import Cycle, Duration, HourMinute, Number, Numeric, Time, Waves
from onkel.model.single import UsualRow
from onkel.model.spare import notes_on_spare, spare_names, write_spare
from onkel.model.target import too_large
from onkel.model.target_means import TargetMeans

__all__ = ["Cycle", "Date", "Duration", "Encoder", "Hashed", "HourMinute", "LeftOut", "Number", "OneHot", "Text", "Time"]

Mask = NDArray[np.bool_]
COLUMNS_NAMED = 8  # at most this many columns are named in a note on missing values


class Missing(enum.StrEnum):
    """What becomes of a missing value."""

    REFUSE = "refuse"
    MEAN = "mean"
    DROP = "drop"

    def __repr__(self) -> str:
        return repr(str(self))  # as it is written in code


def policy(missing: Missing | str) -> Missing:
    try:
        return Missing(missing)
    except ValueError:
        raise InputError(f"missing must be {' or '.join(map(repr, map(str, Missing)))}, got {missing!r}") from None


@dataclass(frozen=True)
class Encoder:
    columns: tuple[Column, ...]
    missing: Missing = Missing.REFUSE
    spare: int = 0  # the number of columns at the end of X that are kept free for keys that come later
    ignored: tuple[str, ...] = ()  # columns that were there from the start but are not inputs
    grows: bool = False  # whether rows are dicts, whose new keys may become columns

    def __post_init__(self) -> None:
        whole(self, "spare", least=0, most=LARGEST_ROOM)
        flag(self, "grows")
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "missing", policy(self.missing))
        if not self.columns and not (self.grows and self.spare):
            raise InputError("there are no feature columns; give at least one")
        object.__setattr__(self, "ignored", tuple(map(str, self.ignored)))
        if wrong := [column for column in self.columns if not isinstance(column, Column)]:
            raise InputError(f"columns must be encodings such as Number or OneHot, got {wrong[0]!r}")

    @functools.cached_property
    def width(self) -> int:
        """The columns of X."""
        return sum(column.width + column.indicator for column in self.columns) + self.spare

    @functools.cached_property
    def starts(self) -> list[int]:
        """The column of X at which each encoding begins. If an encoding has an indicator, this is its last column."""
        return [int(k) for k in np.cumsum([0, *(column.width + column.indicator for column in self.columns)])[:-1]]

    @functools.cached_property
    def _numbers(self) -> tuple[tuple[str, ...], list[int]]:
        pairs = [
            (column.name, start) for column, start in zip(self.columns, self.starts, strict=True) if isinstance(column, Numeric)
        ]
        return tuple(name for name, _ in pairs), [start for _, start in pairs]

    @functools.cached_property
    def late(self) -> frozenset[str]:
        """The columns that first appeared after rows without them."""
        return frozenset(column.name for column in self.columns if column.late)

    def write_usual(self, row: Any, state: State, target: str | None, X: Matrix) -> bool | None:
        """Write a single usual row (see `single.py`), a dict or an array of numbers, to X, (1, width). Returns whether numbers are
        missing in it; None if the row is not usual."""
        if (usual := self._usual) is None:
            return None
        return usual.write(row, state, target, X) if type(row) is dict else usual.write_numbers(row, X)

    def with_filled(self, state: State, X: Matrix) -> State:
        """The state after a usual row in which values are missing."""
        after = state.copy()
        for name in self._usual.filled(X) if self._usual else ():
            after.filled[name] = after.filled.get(name, 0) + 1
        return after

    @functools.cached_property
    def _usual(self) -> UsualRow | None:
        """The quick way for usual rows; None if these columns have none."""
        found = UsualRow(self.columns, self.starts, self.width, self.ignored, self.missing is Missing.MEAN)
        return found if found.exists and not self.spare else None

    @functools.cached_property
    def _others(self) -> list[Column]:
        return [column for column in self.columns if column.width and not isinstance(column, Numeric)]

    @property
    def names_of_numbers(self) -> tuple[str, ...]:
        return self._numbers[0]

    def records(self, target: Mapping[str, Kind], ignored: Sequence[str]) -> Records:
        """The object that turns dicts into tables with these columns and target. `ignored` keys are not used as inputs."""
        key = *target.items(), *ignored
        if key not in self._records:
            kinds = {column.name: column.kind for column in self.columns} | dict(target)
            self._records[key] = Records(kinds, (*self.ignored, *ignored), room=self.grows or self.spare > 0)
        return self._records[key]

    def notes_on_keys(self) -> list[str]:
        """Keys of dicts that were not used, one sentence each."""
        return list(dict.fromkeys(note for records in self._records.values() for note in records.notes()))

    @functools.cached_property
    def _records(self) -> dict[tuple[Any, ...], Records]:
        """A cache of `records`, by target and ignored keys; to make a new one would take longer than to learn a single row."""
        return {}

    @functools.cached_property
    def blank(self) -> Vector:
        """A row of X in which every value is missing."""
        row = np.zeros(self.width)
        for column, start in zip(self.columns, self.starts, strict=True):
            if isinstance(column, Numeric | Date):
                row[start] = np.nan
            if column.indicator:
                row[start + column.width] = 1.0
        row[self.width - self.spare :] = np.nan
        return row

    def init(self) -> State:
        one_hot = [column.name for column in self.columns if isinstance(column, OneHot)]
        means = {column.name: [TargetMeans.init(column.labels) for _ in places] for column, places in self._with_means}
        return State({name: [] for name in one_hot}, dict.fromkeys(one_hot, 0), means=means)

    def names(self, state: State) -> list[str]:
        """The names of the columns of X."""
        return [
            name
            for column in self.columns
            for name in [*column.names(state), *([f"{column.name} is missing"] if column.indicator else [])]
        ] + spare_names(state, self.spare)

    def learn(self, state: State, table: Table) -> tuple[Matrix, Mask]:
        """X, with NaN in gaps, and the mask of the table's rows that X contains."""
        X, kept = self._encode(state, table, True)
        state.dropped += len(kept) - X.shape[0]
        return X, kept

    def predict(self, state: State, table: Table) -> tuple[Matrix, Mask]:
        """X and mask as from `learn`, but each row as if it came next, with the means of the target so far; changes nothing."""
        X, kept = self._encode(state, table, False)
        if self._with_means:
            rows = table if kept.all() else table.where(kept)
            for column, places in self._with_means:
                terms = column.terms(rows.strings[column.name])
                for means, of, here in zip(state.means[column.name], terms, places, strict=True):
                    X[:, here] = means.predict(of)
        return X, kept

    def learn_labels(self, state: State, table: Table, Y: Matrix, X: Matrix) -> None:
        """Write the means of the target before each row into X, which `learn` has made of the same rows; then learn the labels
        Y."""
        for column, places in self._with_means:
            terms, labels = column.terms(table.strings[column.name]), np.ascontiguousarray(Y[:, : column.labels])
            for means, of, here in zip(state.means[column.name], terms, places, strict=True):
                X[:, here] = means.learn(of, labels)

    @functools.cached_property
    def labels(self) -> int:
        """The number of columns of labels that `learn_labels` needs; if it is 0, `learn_labels` need not be called."""
        return max((column.labels for column, _ in self._with_means), default=0)

    @functools.cached_property
    def _with_means(self) -> list[tuple[Hashed | Text, list[slice]]]:
        """The encodings that contain means of the target, and the columns of X where these means are."""
        return [
            (column, [slice(start + at, start + at + column.labels) for at in column.places_of_means])
            for column, start in zip(self.columns, self.starts, strict=True)
            if isinstance(column, Hashed | Text) and column.labels
        ]

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        rooms = {column.name: column.room for column in self.columns if isinstance(column, OneHot)}
        fits = state.values.keys() == rooms.keys() == state.shared.keys()
        counts = [
            *state.shared.values(),
            *state.filled.values(),
            *state.passed.values(),
            state.dropped,
            state.unlabelled,
            state.crowded,
        ]
        fits = fits and all(type(count) is int and count >= 0 for count in counts) and state.unlabelled <= state.dropped
        for name, values in state.values.items() if fits else ():
            fits = fits and len(values) <= rooms[name] and all(type(value) is str for value in values)
            fits = fits and len(set(values)) == len(values)
        fits = fits and len(state.late) <= self.spare and all(type(name) is str for name in state.late)
        fits = fits and len(state.marked) == len(state.late) and all(type(value) in (str, type(None)) for value in state.marked)
        fits = fits and len(set(zip(state.late, state.marked, strict=False))) == len(state.late)
        sizes = {column.name: (column.labels, len(places)) for column, places in self._with_means}
        fits = fits and state.means.keys() == sizes.keys()
        for name, (labels, count) in sizes.items() if fits else ():
            means = state.means[name]
            fits = fits and len(means) == count and all(one.is_possible(labels) for one in means)
        if not fits:
            raise InputError("the encoder's state is not one of this encoder")

    def notes(self, state: State) -> list[str]:
        """What the user should know about the rows so far, one sentence each."""
        late = "came too late for a column of their own and share one; hash them all:"
        shared = [
            f"{rows:,} values of {name!r} {late} hashed={[name]!r} (--hash {quote(name)})"
            for name, rows in state.shared.items()
            if rows
        ]
        filled = [filled_in(state.filled) + "; missing='refuse' (--missing refuse) stops at the first"] if state.filled else []
        gappy = state.dropped - state.unlabelled
        dropped = [counted(gappy, "row") + " dropped because a value was missing"] if gappy else []
        if state.unlabelled:
            dropped.append(counted(state.unlabelled, "row") + " dropped because the label was missing")
        return shared + filled + dropped + (notes_on_spare(state, self.spare) if state.late or state.crowded else [])

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether X is the numbers of the table unchanged, whatever rows came before."""
        return len(self._numbers[0]) == self.width

    def _encode(self, state: State, table: Table, learning: bool) -> tuple[Matrix, Mask]:
        places, numbers = self._numbers[1], self._numbers_of(table)
        gaps = self._gaps(table, numbers)
        kept = np.ones(len(table), dtype=bool)
        if gaps and self.missing is Missing.REFUSE:
            raise self._refusal(table, gaps, learning)
        if gaps and not isinstance(numbers, np.ndarray):
            numbers = numbers.toarray()
        if gaps and self.missing is Missing.DROP:
            kept = ~np.logical_or.reduce(list(gaps.values()))
            numbers, gaps = numbers[kept], {}
        for name in gaps if learning else ():
            state.filled[name] = state.filled.get(name, 0) + int(np.count_nonzero(gaps[name]))
        if self.is_plain and not table.late:
            return numbers, kept
        X = np.zeros((len(kept) if kept.all() else int(np.count_nonzero(kept)), self.width))
        X[:, places] = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
        for column, start in zip(self.columns, self.starts, strict=True):
            if isinstance(column, Waves):
                column.write(X[:, start : start + column.width])
            elif not isinstance(column, Numeric | LeftOut):
                found: Any = table.strings[column.name] if column.kind is Kind.TEXT else table.dates[column.name]
                column.write(found if kept.all() else found[kept], state, X[:, start : start + column.width], learning)
            if column.indicator and column.name in gaps:
                X[:, start + column.width] = gaps[column.name]
        if self.spare or table.late:
            late = {name: column[kept] for name, column in table.late.items()}
            write_spare(late, state, X[:, self.width - self.spare :], learning)
        return X, kept

    def refuse_large(self, table: Table) -> None:
        """Refuse numbers that no learner takes, and say where they are."""
        numbers = self._numbers_of(table)
        if np.abs(numbers if isinstance(numbers, np.ndarray) else numbers.data).max(initial=0.0) <= LARGEST_NUMBER:
            return
        numbers = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
        if len(wrong := np.argwhere(np.abs(numbers) > LARGEST_NUMBER)):
            row, j = wrong[0]
            raise too_large(table.place(int(row)), self.names_of_numbers[j], numbers[row, j])

    def _numbers_of(self, table: Table) -> Any:
        """The numbers of a table in the order of the columns."""
        names = self._numbers[0]
        if table.names == names:
            return table.numbers
        at = {name: j for j, name in enumerate(table.names)}
        return table.numbers[:, [at[name] for name in names]]

    def missing_in(self, table: Table) -> dict[str, int]:
        """The number of missing values of each column that has any."""
        return {name: int(np.count_nonzero(mask)) for name, mask in self._gaps(table, self._numbers_of(table)).items()}

    def _gaps(self, table: Table, numbers: Any) -> dict[str, Mask]:
        """The mask of missing values of each column that has any."""
        found: dict[str, Mask] = {}
        if not np.isfinite(numbers if isinstance(numbers, np.ndarray) else numbers.data).all():
            names = self._numbers[0]
            numbers = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
            if len(wrong := np.argwhere(np.isinf(numbers))):
                row, j = wrong[0]
                raise too_large(table.place(int(row)), names[j], numbers[row, j])
            found = {name: np.isnan(numbers[:, j]) for j, name in enumerate(names) if name not in self.late}
        for column in self._others:
            if column.late:
                continue
            in_text = column.kind is Kind.TEXT
            found[column.name] = table.strings[column.name].codes < 0 if in_text else np.isnat(table.dates[column.name])
        return {name: mask for name, mask in found.items() if mask.any()}

    def _refusal(self, table: Table, gaps: Mapping[str, Mask], learning: bool) -> InputError:
        order = [column.name for column in self.columns if column.name in gaps]
        row, name = min((int(np.flatnonzero(gaps[name])[0]), k) for k, name in enumerate(order))
        without = f"leave the column out ({leave_out(order[name])}), " if learning else ""
        remedy = f"fill it, {without}or say what to do: missing='mean' or 'drop' (--missing mean)"
        return InputError(f"{table.place(row)}, column {order[name]!r}: the value is missing; {remedy}")


def counted(count: int, noun: str, of: str = "") -> str:
    return f"1 {noun}{of} was" if count == 1 else f"{count:,} {noun}s{of} were"


def filled_in(gaps: Mapping[str, int]) -> str:
    """A sentence that says how many missing values of these columns were filled in."""
    most = sorted(gaps, key=lambda name: -gaps[name])
    if len(most) == 1:
        return counted(gaps[most[0]], "missing value", f" of {most[0]!r}") + " filled in"
    named = ", ".join(f"{gaps[name]:,} of {name!r}" for name in most[:COLUMNS_NAMED])
    others = f", the others of {len(most) - COLUMNS_NAMED:,} more columns" if len(most) > COLUMNS_NAMED else ""
    return f"{counted(sum(gaps.values()), 'missing value')} filled in: {named}{others}"


class Means:
    """The mean of each column of X so far, which fills its gaps."""

    def __init__(self, width: int) -> None:
        self.sums, self.counts = np.zeros(width), np.zeros(width)

    def fill(self, X: Matrix) -> Matrix:
        """Fill each gap with the mean of the values that came before it in its column, in this table and in earlier ones."""
        holes = np.isnan(X)
        with np.errstate(over="ignore", invalid="ignore"):  # numbers so large that no learner takes them
            sums = np.cumsum(np.vstack([self.sums, np.where(holes, 0.0, X)]), axis=0)
        counts = np.cumsum(np.vstack([self.counts, ~holes]), axis=0)
        self.sums, self.counts = sums[-1], counts[-1]
        return np.where(holes, sums[:-1] / np.maximum(counts[:-1], 1.0), X) if holes.any() else X
