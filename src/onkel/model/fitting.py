"""How a model learns a whole data set at once: scaled by mean and deviation of all rows, in a random order, and several times if
`epochs` says so. (Rows that are dicts may bring new columns, so they are scaled by the rows so far.)

1.  The rows are surveyed: `Scaled`, or a learner that scales itself, takes mean and deviation of each column from all of them.
2.  They are learnt like a stream. So intervals and probabilities are made from residuals of rows that were new at that moment.
3.  Further passes, if any, leave intervals and probabilities as they are.
4.  If the learner's function starts anew from time to time (`FORKS`, `ProsNKONS`), the rows since the last start are few. So rows
    are learnt once more without another start.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_weight
from onkel._types import Vector
from onkel.combine.assembly import lags_of
from onkel.data.order import Order
from onkel.data.reading import Reading
from onkel.data.table import Table
from onkel.errors import InputError
from onkel.model import stream
from onkel.model.late import taking_late
from onkel.model.learning import State, repeated, with_mask
from onkel.model.stream import Stream

if TYPE_CHECKING:
    from onkel.model.model import Model

Part = tuple[Table, Vector | None]  # some rows, and their weights


def fitted(model: Model, rows: Any, weight: ArrayLike | None, seed: int | None, epochs: int) -> State:
    """A state that has learnt these rows."""
    lags = lags_of(model.learner) if model.lags is None else model.lags
    if lags and epochs > 1:
        raise InputError(f"a learner with {lags} lags learns rows in their order, once; say epochs=1, got {epochs}")
    order = Order(None if lags else seed)  # with earlier labels as inputs, rows are learnt in the order given
    opened = model.open(rows, Reading(order=order))
    state = model.begin(opened)
    if not opened.encoder.grows:  # dicts may bring new columns: they are scaled by the rows so far
        _survey(state, _parts(opened, order, weight))
    for table, weights in _parts(opened, order, weight):
        model.update(state, table, weights)
    for _ in range(1, epochs):
        for table, weights in _parts(opened, order, weight):
            _learn_again(state, table, weights)
    left = state.learner._hooks._rows_to_repeat(state.inner)
    for table, weights in _parts(opened, order, weight) if left else ():
        _learn_again(state, table[:left], None if weights is None else weights[:left])
        left = max(0, left - len(table))
    return state


def _parts(opened: Stream, order: Order, weight: ArrayLike | None) -> Iterator[Part]:
    """Yields some of the rows at a time, in their order, with their weights."""
    if weight is None:
        yield from ((table, None) for table in opened.tables())
        return
    rows, start = sum(map(len, opened.tables())) if opened.rows is None else opened.rows, 0
    weights = check_weight(weight, rows)[order.permutation(rows)]
    for table in opened.tables():
        yield table, weights[start : start + len(table)]
        start += len(table)


def _survey(state: State, parts: Iterator[Part]) -> None:
    encoded, labels, outputs = state.encoder.init(), list(state.labels), state.inner.outputs
    for table, weight in parts:
        rows = table if weight is None else table.where(weight > 0.0)
        X, codes, _ = stream.encoded(state.encoder, encoded, state.target, labels, rows)
        X, more = with_mask(state, X)
        y = codes if state.target.task == "regression" else np.zeros((len(codes), outputs))  # classes are not scaled
        state.learner.survey(state.inner, X, y, **more)


def _learn_again(state: State, table: Table, weight: Vector | None) -> None:
    """Learn rows that were learnt before. The encoder has learnt them already, so it does not change."""
    if weight is not None:
        which, weight = repeated(state, weight)
        table = table.take(which)
    table = taking_late(state.encoder, table)
    X, codes, kept = stream.encoded(state.encoder, state.encoded.copy(), state.target, list(state.labels), table)
    if len(codes):
        X, more = with_mask(state, X)
        y = state.target.coded(codes, state.inner.outputs, state.learner.absent)
        state.learner.learn_again(state.inner, X, y, None if weight is None else weight[kept], **more)
