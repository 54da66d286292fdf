"""A version: one model after some rows, with its errors so far. Nothing changes a version; learning makes the next one.

So a reader never waits for a writer, and never sees a half-learnt block. If rows turn out to be bad, or cannot be written to disk,
the next version is dropped, and nothing has happened. The price is a copy of the state for each block: 0.05 ms for PKAWV's default,
1 ms for Auto, which takes 4 ms to learn a block of 64 rows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onkel.errors import FileError, InputError
from onkel.measure import Evaluation
from onkel.measure.engine import Answered, Stopwatch
from onkel.measure.errors import restored, saved
from onkel.model import Answers, Model, State
from onkel.model.answers import labels_of
from onkel.model.rows import tables_of
from onkel.persist import Extra, pack
from onkel.persist.checkpoint import unpack_all
from onkel.serve.messages import Answer, Row
from onkel.state import copied

MOST_RECENT = 10
SHOWN_LEVEL = 0.9


class Recent(NamedTuple):
    """What was predicted for a row, between which ends, and its label."""

    predicted: Any
    low: float | None
    high: float | None
    label: Any


@dataclass(frozen=True)
class Version:
    """A model after `rows` rows. The first block decides its columns and its task, so before that it has no evaluation."""

    model: Model
    rows: int = 0
    evaluation: Evaluation | None = None
    recent: tuple[Recent, ...] = ()  # the last rows, to be shown

    def learn(self, rows: Sequence[Row], lagged: ArrayLike | None = None) -> tuple[Version, Answer]:
        """The version after these rows, and what this one predicted for each of them before it was learnt.

        `lagged`: for a row that was predicted earlier, what `remember` returned then.
        """
        inputs, labels = self._split(rows)
        evaluation = self._begun(inputs, labels) if self.evaluation is None else _copy(self.evaluation)
        tables = tables_of(evaluation.model, evaluation.state, (inputs, labels))
        found = [evaluation.answer(table, lagged) for table in tables]
        parts = [_given(evaluation, one.answers) for one in found]
        recent = _recent(found[-1], parts[-1], labels)
        return Version(self.model, self.rows + len(rows), evaluation, (*self.recent, *recent)[-MOST_RECENT:]), joined(parts)

    def predict(self, rows: Sequence[Row]) -> Answer:
        """What it predicts for rows as if each came next."""
        model, state = self._known
        target = state.target.name
        inputs = [{name: value for name, value in row.items() if name != target} for row in rows]
        scores, kept = model.scores(state, inputs)
        found = _plain(model.answers_for(state, scores, kept))
        if state.target.task == "regression":
            return Answer(found)
        return Answer(found, model.classes(state), _plain(model.predict_proba(state, inputs)))

    def intervals(self, rows: Sequence[Row], level: float) -> list[list[float]]:
        """The lower and upper end of an interval for each row."""
        model, state = self._known
        found: list[list[float]] = model.predict_interval(state, list(rows), level).tolist()
        return found

    def remember(self) -> list[float]:
        """The earlier labels that are inputs of a row predicted now."""
        model, state = self._known
        return list(map(float, model.remember(state)))

    def pack(self) -> bytes:
        """The model as the bytes of an .onkel file, which `unpacked`, `onkel.load` and `onkel predict` read."""
        model, state = self._known
        assert self.evaluation is not None
        numbers, arrays = saved(self.evaluation.errors)
        return pack(model, copied(state), Extra({"run": {"errors": numbers, "learnt": "", "earlier": 0}}, arrays))

    @property
    def _known(self) -> tuple[Model, State]:
        if self.evaluation is None:
            raise NothingLearnt("the model has not learnt a row yet; send it some first: POST /models/NAME/learn")
        return self.evaluation.model, self.evaluation.state

    def _split(self, rows: Sequence[Row]) -> tuple[list[Row], list[Any]]:
        """The rows without their labels, and their labels."""
        target = self.model.target
        assert target is not None
        numeric = self.evaluation is not None and self.evaluation.state.target.task == "regression"
        numeric |= self.evaluation is None and self.model.task == "regression"
        labels = []
        for k, row in enumerate(rows):
            if (label := row.get(target)) is None:
                raise InputError(f"row {k} (counted from 0) has no {target!r}, the label; add it, or send the row to predict")
            if numeric and (isinstance(label, bool) or not isinstance(label, int | float)):
                raise InputError(f"row {k} (counted from 0), column {target!r}: {label!r:.60} is not a number; convert it")
            labels.append(label)
        return [{name: value for name, value in row.items() if name != target} for row in rows], labels

    def _begun(self, inputs: list[Row], labels: list[Any]) -> Evaluation:
        """Numbers mean regression, strings and booleans classes, unless the model says which."""
        task = self.model.task or ("classification" if isinstance(labels[0], str | bool) else "regression")
        model = dataclasses.replace(self.model, task=task)
        return Evaluation.begin(model, model.open((inputs, labels)))


class NothingLearnt(InputError):
    """Asked of a model before its first row."""


def unpacked(asked: Model, rows: int, data: bytes) -> Version:
    """The version that was packed, after `rows` rows."""
    model, state, extra = unpack_all(data)
    if not isinstance(model, Model) or extra is None:
        raise FileError("a snapshot holds no model")
    errors = restored(state.target.task, extra.about["run"]["errors"], extra.arrays)
    return Version(asked, rows, Evaluation(model, state, errors))


def _copy(evaluation: Evaluation) -> Evaluation:
    """An evaluation that can learn without changing the given one."""
    watch = Stopwatch(evaluation.watch.seconds)
    state, errors = copied(evaluation.state), copied(evaluation.errors)
    return dataclasses.replace(evaluation, state=state, errors=errors, watch=watch)


def _given(evaluation: Evaluation, answers: Answers) -> Answer:
    state, model = evaluation.state, evaluation.model
    found = labels_of(state, answers.predicted, answers.kept)
    if answers.probabilities is None:
        return Answer(_plain(found))
    return Answer(_plain(found), model.classes(state), _plain(answers.probabilities))


def _recent(found: Answered, given: Answer, labels: Sequence[Any]) -> list[Recent]:
    """The last rows of a block."""
    predicted = given.predictions[-MOST_RECENT:]
    half: list[float] = [math.inf] * len(predicted)
    if found.intervals is not None and len(found.intervals.half) == len(given.predictions):
        level = found.intervals.levels.tolist().index(SHOWN_LEVEL)
        half = found.intervals.half[-len(predicted) :, level].tolist()
    return [
        Recent(one, one - wide if math.isfinite(wide) else None, one + wide if math.isfinite(wide) else None, label)
        for one, wide, label in zip(predicted, half, labels[-len(predicted) :], strict=True)
    ]


def joined(parts: Sequence[Answer]) -> Answer:
    """One answer of several, in order. A class that was not known yet has the probability 0."""
    if len(parts) == 1:
        return parts[0]
    predictions, classes = [one for part in parts for one in part.predictions], parts[-1].classes
    if classes is None:
        return Answer(predictions)
    wide = [[*row, *[0.0] * (len(classes) - len(row))] for part in parts for row in part.probabilities or []]
    return Answer(predictions, classes, wide)


def _plain(found: Any) -> list[Any]:
    """As JSON has it: None for what there is not."""
    if found.dtype.kind == "f" and np.isnan(found).any():
        return [None if value != value else value for value in found.tolist()]
    plain: list[Any] = found.tolist()
    return plain
