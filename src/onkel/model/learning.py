"""How a model learns a table. Encoder and learner stay together: after an interrupt both have learnt the same first rows.

1. A table is cut before each row that needs a new column (`late.py`). So it does not matter how many rows come in one call.
2. Each piece is encoded by a copy of the encoder's state. If it brings a new column or class, the learner's state is copied too.
3.  The learner learns. If that is interrupted, it has learnt the first k rows; the encoder's state is then made for these rows.
4.  One assignment puts the copies in place (`onkel.turns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Counts, Vector
from onkel.combine.assembly import bare
from onkel.combine.wrapper import takes_sparse
from onkel.data.table import Table
from onkel.model import late, stream
from onkel.model.encoder import Encoder
from onkel.model.encodings import State as EncoderState
from onkel.model.target import Label, Mask, Target, too_large
from onkel.one_row import single_row
from onkel.state import copied, memory
from onkel.turns import Call

MOST_REPEATS = 1000  # of a row, for a learner that has no weights


@memory
class State:
    """What was decided by the first rows (encoder, target, learner), and what was learnt from all rows.

    >>> model = onkel.Model(target="price")
    >>> state = model.init([{"size": 50.0, "price": 210.0}, {"size": 70.0, "price": 350.0}])
    >>> isinstance(state, onkel.model.State), state.rows, state.target.name
    (True, 0, 'price')
    """

    encoder: Encoder  # how columns become X
    target: Target  # how labels are coded, and scores decoded
    learner: Any  # the learner for this target, in its wrappers, whose hooks are its own
    inner: Any  # its state
    encoded: EncoderState
    labels: list[Label] = field(default_factory=list)  # the labels of the classes, in the order in which they came

    @property
    def rows(self) -> int:
        """The number of rows that were learnt or dropped."""
        return int(self.learner._learnt(self.inner)) + self.encoded.dropped


class Scored(NamedTuple):
    """The score of each row of a table before it was learnt, and the code of its label (see `Target`)."""

    scores: Vector
    codes: Vector
    kept: Mask  # which rows of the table these are; the others lack a label, or were dropped because a value is missing
    met: int  # number of classes that were known before the table


def learn(call: Call, state: State, table: Table, weight: Vector | None, lagged: ArrayLike | None) -> Scored:
    """Learn the rows of a table."""
    parts: list[Scored] = []
    start = 0
    while not parts or start < len(table):
        rest = table[start:] if start else table
        encoder, rows = _with_room(state, rest)
        now = slice(start, start + rows)
        part = rest[:rows] if rows < len(rest) else rest
        parts.append(_take(call, state, encoder, part, None if weight is None else weight[now], lagged))
        start += rows
    if len(parts) == 1:
        return parts[0]
    scores, codes, kept = (joined([part[k] for part in parts]) for k in range(3))  # type: ignore[misc]
    return Scored(scores, codes, kept, parts[0].met)


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks, one below the other. A class that an earlier block did not know yet has 0 there."""
    if len(parts) == 1 or not parts:
        return parts[0] if parts else np.empty(0)
    if parts[0].ndim == 2:
        width = max(part.shape[1] for part in parts)
        parts = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.concatenate(parts)


def learn_usual(call: Call, state: State, row: Any, label: Any, separate: bool) -> bool:
    """Learn a single usual row (`single.py`); False, with nothing learnt, if it is not such a row."""
    inner, target, single = state.inner, state.target, single_row(state.learner, state.inner)
    X = np.empty((1, state.encoder.width)) if single is None else single.row.X
    has_gaps = state.encoder.write_usual(row, state.encoded, None if separate else target.name, X)
    if has_gaps is None or (code := target.code(label, state.labels)) is None:
        return False
    y = np.array([code])
    if target.task == "classification":
        y = target.coded(y, inner.outputs, state.learner.absent)
    if not has_gaps:
        if single is None or not (single.reads_label(y) and single.learn(call)):
            state.learner.learn(inner, X, y)
        return True
    after = {"encoded": state.encoder.with_filled(state.encoded, X)}
    X, gaps = with_mask(state, X)
    call.defer(partial(_follow, state, state.encoded, None, state.learner._learnt(inner), 1, after))
    state.learner.learn(inner, X, y, **gaps)
    call.complete()
    return True


def learn_weighted(call: Call, state: State, table: Table, weight: Vector, lagged: ArrayLike | None) -> Scored:
    """Learn the rows with their weights. Rows of weight 0 are left out; a learner that takes no weights learns a row of weight 3
    three times."""
    which, weights = repeated(state, weight)
    scored = learn(call, state, table.take(which), weights, lagged)
    is_first = np.diff(which, prepend=-1) > 0  # the first copy of each row that is repeated
    kept, own = np.zeros(len(table), dtype=bool), is_first[scored.kept]
    kept[which[is_first & scored.kept]] = True
    return Scored(scored.scores[own], scored.codes[own], kept, scored.met)


def repeated(state: State, weight: Vector) -> tuple[Counts, Vector]:
    """The indices of the rows to learn, and their weights. Rows of weight 0 are left out; for a learner that takes no weights a row
    is repeated."""
    times = np.where(weight > 0.0, 1, 0)
    if not bare(state.learner).multi_output and np.all(weight == np.floor(weight)) and np.all(weight <= MOST_REPEATS):
        times, weight = weight.astype(int), np.minimum(weight, 1.0)
    which = np.repeat(np.arange(len(weight)), times)
    return which, weight[which]


def with_mask(state: State, X: Any) -> tuple[Any, dict[str, Any]]:
    """X in the form that the learner takes and, if any value is missing, the keyword argument that says which values are there."""
    if not isinstance(X, np.ndarray):
        if takes_sparse(state.learner):
            return X, {}
        X = X.toarray()
    holes = np.isnan(X)
    return (np.where(holes, 0.0, X), {"there": ~holes}) if holes.any() else (X, {})


def widened(state: State, inner: Any, classes: int) -> Any:
    """The learner's state with room for this many classes. It is a copy if the room had to grow."""
    if classes <= inner.outputs or not state.target.one_hot:
        return inner
    wider = copied(inner) if inner is state.inner else inner
    state.learner.widen(wider, classes)
    return wider


def _with_room(state: State, table: Table) -> tuple[Encoder, int]:
    """The encoder with room for the first row, and the number of rows for which this encoder is right."""
    encoder = state.encoder
    if not (encoder.grows and len(table) and state.learner.keeps_rows(state.inner)):
        return encoder, len(table)
    return late.with_room(encoder, state.encoded, table, ~state.target.missing(table))


def _rearranged(state: State, encoder: Encoder) -> Any:
    """The learner's state for this encoder."""
    if encoder is state.encoder:
        return state.inner
    inner = copied(state.inner)
    state.learner.rearrange(inner, encoder.width, late.places(encoder, state.encoder), encoder.blank)
    return inner


def _take(
    call: Call, state: State, encoder: Encoder, table: Table, weight: Vector | None, lagged: ArrayLike | None
) -> Scored:  # fmt: skip
    inner = _rearranged(state, encoder)
    encoded, labels, met = state.encoded.copy(), list(state.labels), len(state.labels)
    if encoder.late:
        table = late.taking_late(encoder, table)
        late.admit(encoder, encoded)
    X, codes, kept = stream.encoded(encoder, encoded, state.target, labels, table)
    _refuse_large(encoder, state.target, table, codes, kept)
    after = {"encoder": encoder, "encoded": encoded, "labels": labels}
    inner = widened(state, inner, len(labels))
    scores = np.empty((0, inner.outputs) if state.target.one_hot else codes.shape)
    if len(codes):
        X, more = with_mask(state, X)
        if lagged is not None:
            more |= _known_then(state, lagged, len(codes))
        y = state.target.coded(codes, inner.outputs, state.learner.absent)
        weights = None if weight is None else weight[kept]
        if inner is state.inner:
            call.defer(partial(_follow, state, state.encoded, table, state.learner._learnt(inner), len(codes), after))
            scores = state.learner.learn(inner, X, y, weights, **more)
            call.complete()
            return Scored(scores, codes, kept, met)
        scores = state.learner.learn(inner, X, y, weights, **more)
    vars(state).update(after, inner=inner)  # as one step
    return Scored(scores, codes, kept, met)


def _refuse_large(encoder: Encoder, target: Target, table: Table, codes: Vector, kept: Mask) -> None:
    """Refuse numbers that no learner takes, and say where they are."""
    encoder.refuse_large(table)
    if len(wrong := np.argwhere(np.abs(codes) > LARGEST_NUMBER)):
        row, *column = map(int, wrong[0])
        raise too_large(table.place(int(np.flatnonzero(kept)[row])), target.name, codes[row, *column])


def _known_then(state: State, lagged: ArrayLike, rows: int) -> dict[str, Any]:
    """The earlier labels that are inputs of a row: those that were known when it was predicted, 0 for those that did not exist
    yet."""
    known = np.zeros(len(state.learner.remember(state.inner)))
    then = np.ravel(lagged)[: len(known)]
    known[: len(then)] = then
    return {"lagged": np.tile(known, (rows, 1))} if len(known) else {}


def _follow(state: State, encoded: EncoderState, table: Table | None, before: int, rows: int, after: dict[str, Any]) -> None:
    """Let the encoder learn the rows that the learner has learnt: all rows of the table, or only the first ones after an interrupt.

    `encoded` and `before` are the encoder's state and the learner's number of rows before the table.
    """
    learnt = state.learner._learnt(state.inner) - before
    if not learnt or state.encoded is not encoded:  # no row was learnt, or the encoder has learnt the rows already
        return
    if table is not None and learnt < rows:
        after = {**after, "encoded": state.encoded.copy(), "labels": list(state.labels)}
        kept = stream.encoded(state.encoder, state.encoded.copy(), state.target, list(state.labels), table)[2]
        first = table[: int(np.flatnonzero(kept)[learnt - 1]) + 1]
        stream.encoded(state.encoder, after["encoded"], state.target, after["labels"], first)
    vars(state).update(after)
