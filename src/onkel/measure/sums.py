"""The sums from which every metric is computed: over a whole stream, or over each of several windows along it.

Each field of `NumberSums` or `ClassSums` is a number, or an array with one value for each window. Fields of classes have one more
axis for the classes.

The sums are kept for at most MOST consecutive pieces of the stream, all of the same length. When all pieces are full, neighbouring
pieces are merged in pairs. So memory is bounded. Piece k always begins at row k · length; it does not matter how many rows come in
one call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.measure.roc_auc import RocCounts

Values = NDArray[np.float64]

MOST = 256
SHORTEST = 16  # rows
WINDOW = 4  # pieces: between a 64th and a 32nd of a long stream


@dataclass(frozen=True)
class NumberSums:
    rows: Values
    labels: Values  # label minus the first label of the stream
    spread: Values  # (label − mean of the labels)²
    first_square: Values  # square error of the model in the first row of the stream
    first_guess: Values  # square error of the baselines in that row, for which both predict 0
    later_square: Values  # square error of the model in all other rows
    mean_square: Values  # square error of the running mean in these rows
    last_square: Values  # square error of the last label in these rows
    absolute: Values  # absolute error of the model in all rows
    mean_absolute: Values  # that of the running mean
    last_absolute: Values  # that of the last label
    relative: Values  # |error| / |label|, in rows whose label is not 0
    zeros: Values  # number of rows whose label is 0
    pinball: Values
    banded: Values  # number of rows that had an interval of every level

    def guessed(self, square: Values, absolute: Values) -> NumberSums:
        """The sums of a baseline with these errors."""
        own: dict[str, Any] = {"first_square": self.first_guess, "later_square": square, "absolute": absolute}
        return dataclasses.replace(self, **own, relative=np.array(np.nan), pinball=np.array(np.nan))

    def baselines(self) -> dict[str, NumberSums]:
        return {
            "running mean": self.guessed(self.mean_square, self.mean_absolute),
            "last label": self.guessed(self.last_square, self.last_absolute),
        }


@dataclass(frozen=True)
class ClassSums:
    rows: Values
    wrong: Values
    log_loss: Values
    first_brier: Values  # (p − y)² of the first class: p is its probability, y is 1 if the row belongs to it, else 0
    other_brier: Values  # the same for all other classes together
    frequent_wrong: Values  # mistakes of the most frequent label
    last_wrong: Values  # mistakes of the last label
    true: Values  # (…, classes)  rows of each class
    predicted: Values  # (…, classes)  rows predicted as each class
    correct: Values  # (…, classes)
    ranks: RocCounts | None = None  # only for the whole stream, not for windows

    @property
    def classes(self) -> int:
        return int(self.true.shape[-1])

    def guessed(self, wrong: Values) -> ClassSums:
        """The sums of a baseline with these mistakes."""
        unknown: dict[str, Any] = dict.fromkeys(("log_loss", "first_brier", "other_brier"), np.nan)
        counts = np.full_like(self.true, np.nan)
        return dataclasses.replace(self, wrong=wrong, predicted=counts, correct=counts, ranks=None, **unknown)

    def baselines(self) -> dict[str, ClassSums]:
        return {"most frequent label": self.guessed(self.frequent_wrong), "last label": self.guessed(self.last_wrong)}


NUMBER_COLUMNS = tuple(field.name for field in dataclasses.fields(NumberSums))
CLASS_COLUMNS = tuple(field.name for field in dataclasses.fields(ClassSums))[:7]
ROWS, LABELS, SPREAD = map(NUMBER_COLUMNS.index, ("rows", "labels", "spread"))


def merged(groups: Matrix) -> Matrix:
    """The columns of `NumberSums` for each group, from those for each of its pieces, (groups, pieces, columns)."""
    sums = groups.sum(axis=1)
    mean = sums[:, LABELS] / np.maximum(sums[:, ROWS], 1.0)
    apart = groups[:, :, LABELS] / np.maximum(groups[:, :, ROWS], 1.0) - mean[:, None]
    # plus the squared deviations of the pieces' means from the mean of all rows
    sums[:, SPREAD] += (groups[:, :, ROWS] * apart**2).sum(axis=1)
    return np.asarray(sums)


@dataclass
class Pieces:
    rows: int = 0
    length: int = SHORTEST

    def cuts(self, rows: int, halve: Callable[[], None]) -> Iterator[tuple[int, slice]]:
        """Divide this many further rows among pieces. Yields the index of each piece and the slice of the rows that belong to it.
        `halve` is called to merge pieces in pairs."""
        done = 0
        while done < rows:
            if self.rows == MOST * self.length:
                halve()
                self.length *= 2
            piece, place = divmod(self.rows, self.length)
            upto = min(rows, done + self.length - place)
            self.rows += upto - done
            yield piece, slice(done, upto)
            done = upto

    @property
    def is_possible(self) -> bool:
        return self.length >= SHORTEST and 0 <= self.rows <= MOST * self.length

    @property
    def used(self) -> int:
        return -(-self.rows // self.length)

    def ends(self) -> NDArray[np.int64]:
        """The last row of each window, counted from 1."""
        first = min(WINDOW, self.used)
        return np.minimum(self.length * np.arange(first, self.used + 1), self.rows)

    # The first axis of `sums` is the pieces. The next two methods move pieces that belong together to a new second axis.

    def together(self, sums: NDArray[Any]) -> NDArray[Any]:
        return sums[None, : self.used]

    def windows(self, sums: NDArray[Any]) -> NDArray[Any]:
        if not self.used:
            return sums[:0, None]
        view = np.lib.stride_tricks.sliding_window_view(sums[: self.used], min(WINDOW, self.used), axis=0)
        return np.moveaxis(view, -1, 1)


def halves(sums: NDArray[Any]) -> NDArray[Any]:
    return sums.reshape(-1, 2, *sums.shape[1:])


def with_room(merged: NDArray[Any]) -> NDArray[Any]:
    """The pieces, followed by the same number of empty ones."""
    return np.concatenate([merged, np.zeros_like(merged)])


def added(total: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The total plus all rows of values, added one after the other, so that it does not matter how the rows are divided into calls.

    `values` must have several columns: NumPy adds those row by row, but the numbers of a single column in another order.
    """
    return np.asarray(np.add.reduce(np.concatenate([total[None], values]), axis=0))
