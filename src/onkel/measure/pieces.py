"""Consecutive pieces of a stream, equally long and never more than MOST: when all are full, neighbouring pieces are merged in
pairs.

So sums over pieces need bounded memory, and give sums over the whole stream and over windows along it. Piece k always begins at row
k · length; it does not matter how many rows come in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 256
SHORTEST = 16  # rows
WINDOW = 4  # pieces: between a 64th and a 32nd of a long stream


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

    Several columns are summed in this order by NumPy; a single one would not be.
    """
    return np.asarray(np.add.reduce(np.concatenate([total[None], values]), axis=0))
