"""The running mean of the target for each value of a column, or for each word of a text, as an input.

    x = Σ n/(n + PRIOR_ROWS) · (m − mean) / √count      over the terms of a row: its value, or the words of its text
        n, m: rows and mean label of the term so far;  mean: that of all rows so far;  count: the number of the row's terms

x is 0 for terms that were never seen. A row's own label is learnt after its x was computed, so a label cannot leak into its own
input. Memory is fixed: terms share SLOTS slots by their hash.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.state import memory

SLOTS = 4096
PRIOR_ROWS = 10.0  # the mean of each value is computed as if it had this many more rows with the overall mean

Slots = NDArray[np.int64]


class Terms(NamedTuple):
    """The terms of rows."""

    start: Slots  # (rows + 1,)  the index at which the terms of each row begin
    slot: Slots  # the slot of each term


@memory
class TargetMeans:
    """The rows and the mean labels of each slot; the last entry is that of all rows."""

    rows: Vector  # (SLOTS + 1,)
    means: Matrix  # (SLOTS + 1, labels)

    @staticmethod
    def init(labels: int) -> TargetMeans:
        return TargetMeans(np.zeros(SLOTS + 1), np.zeros((SLOTS + 1, labels)))

    def copy(self) -> TargetMeans:
        return TargetMeans(self.rows.copy(), self.means.copy())

    def predict(self, terms: Terms) -> Matrix:
        """The inputs of rows, each as if it came next; changes nothing."""
        X = np.zeros((len(terms.start) - 1, self.means.shape[1]))
        _write(self.rows, self.means, terms.start, terms.slot, X, X, False)
        return X

    def learn(self, terms: Terms, Y: Matrix) -> Matrix:
        """The inputs of rows; the labels of each are learnt before the next."""
        X = np.zeros(Y.shape)
        _write(self.rows, self.means, terms.start, terms.slot, np.clip(Y, -LARGEST_NUMBER, LARGEST_NUMBER), X, True)
        return X

    def is_possible(self, labels: int) -> bool:
        """Whether this can be a state for this number of columns of labels."""
        fits = self.rows.shape == (SLOTS + 1,) and self.means.shape == (SLOTS + 1, labels)
        return bool(fits and np.isfinite(self.means).all() and np.isfinite(self.rows).all() and (self.rows >= 0.0).all())

    def to_json(self) -> dict[str, str]:
        return {name: base64.b64encode(array.astype("<f8").tobytes()).decode() for name, array in vars(self).items()}

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> TargetMeans:
        rows, means = (
            np.frombuffer(base64.b64decode(tree[name], validate=True), "<f8").astype(float) for name in ("rows", "means")
        )
        return TargetMeans(rows, means.reshape(SLOTS + 1, -1))


@hot
def _write(rows: Vector, means: Matrix, start: Slots, slots: Slots, Y: Matrix, X: Matrix, learning: bool) -> None:
    last, labels = rows.size - 1, X.shape[1]
    for t in range(X.shape[0]):
        for i in range(start[t], start[t + 1]):
            slot = slots[i]
            share = rows[slot] / ((rows[slot] + PRIOR_ROWS) * np.sqrt(start[t + 1] - start[t]))
            for j in range(labels):
                X[t, j] += share * (means[slot, j] - means[last, j])
        if learning:
            for i in range(start[t], start[t + 1] + 1):
                slot = slots[i] if i < start[t + 1] else last
                rows[slot] += 1.0
                for j in range(labels):
                    means[slot, j] += (Y[t, j] - means[slot, j]) / rows[slot]
