"""From rows to scores, and from scores to answers: predicted codes, labels, and the probabilities of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.combine.assembly import scoring
from onkel.combine.probabilities import probabilities
from onkel.model import learning
from onkel.model.late import taking_late
from onkel.model.learning import Scored, State, joined
from onkel.model.rows import Opens, is_vector, tables_of
from onkel.model.target import Mask, met_before
from onkel.one_row import single_row
from onkel.turns import turn

ONE_ROW = np.ones(1, dtype=bool)  # the mask of a single row that has scores

# a function of (learner, its state, X, further arguments) that returns scores, or the ends of intervals
Score = Callable[..., Vector]
Shape = Callable[..., Vector]  # a function of (scores, labels) that brings the scores into the shape that is wanted


@dataclass(frozen=True)
class Answers:
    """The model's answer for each row of a table before it learnt the row, and the row's label; both as codes (see `Target`).

    >>> rows = [{"size": 50.0, "price": 210.0}, {"size": 70.0, "price": 350.0}]
    >>> model = onkel.Model(target="price")
    >>> state = model.init(rows)
    >>> for table in model.open_again(state, rows).tables():
    ...     answers = model.answer(state, table)
    >>> isinstance(answers, onkel.model.Answers), answers.actual
    (True, array([210., 350.]))
    """

    predicted: Vector  # -1 where no class was known yet
    probabilities: Matrix | None  # of each class; None for numbers
    actual: Vector
    kept: Mask  # which rows of the table the answers belong to


def next_scores(learner: Any, *given: Any, **gaps: Any) -> Vector:
    """The learner's scores of rows as if each came next."""
    scores: Vector = learner.predict(*given, **gaps)
    return scores


def scored(
    model: Opens, state: State, rows: Any, score: Score, shape: Shape = lambda scores, labels: scores
) -> tuple[Vector, Mask]:  # fmt: skip
    """The scores of rows, and which of the rows have scores."""
    if (usual := scored_usual(model, state, rows, score, shape)) is not None:
        return usual, ONE_ROW
    parts = []
    for table in tables_of(model, state, rows, labelled=False):
        with turn(model, state):
            table = taking_late(state.encoder, table)
            X, kept = state.encoder.predict(state.encoded, table)
            state.encoder.refuse_large(table)
            X, gaps = learning.with_mask(state, X)
            parts.append((shape(score(state.learner, state.inner, X, **gaps), state.labels), kept))
    if not parts:
        width = (len(state.target.classes(state.labels)),) if state.target.task == "classification" else ()
        return np.empty((0, *width)), np.empty(0, dtype=bool)
    return joined([scores for scores, _ in parts]), joined([kept for _, kept in parts])


def scored_usual(model: Opens, state: State, row: Any, score: Score, shape: Shape) -> Vector | None:
    """The scores of a single usual row (`single.py`); None for any other rows."""
    if type(row) is not dict and not is_vector(row):
        return None
    call, scores = turn(model, state), None
    try:
        single = None if score is not next_scores or call.is_nested else single_row(state.learner, state.inner)
        X = np.empty((1, state.encoder.width)) if single is None else single.row.X
        has_gaps = state.encoder.write_usual(row, state.encoded, state.target.name, X)
        if has_gaps is False and single is not None and single.score():
            scores = shape(single.scores, state.labels)
        elif has_gaps is not None:
            X, gaps = learning.with_mask(state, X) if has_gaps else (X, {})
            scores = shape(score(state.learner, state.inner, X, **gaps), state.labels)
    except BaseException:
        call.fail()
        raise
    call.end()
    return scores


def predicted_codes(state: State, scored: Scored) -> Vector:
    """The code of each prediction. A class that first appears in this table is not predicted before its first row."""
    target = state.target
    if not target.one_hot:
        return target.predicted_codes(target.scores(scored.scores, state.labels))
    return target.predicted_codes(scored.scores, met_before(scored.codes, scored.met, scored.scores.shape[1]))


def answers(state: State, scored: Scored) -> Answers:
    """The answers to the rows of a table, made of the scores before each of them was learnt."""
    target, predicted = state.target, predicted_codes(state, scored)
    if target.task == "regression":
        return Answers(predicted, None, scored.codes, scored.kept)
    if not target.one_hot:
        columns = target.scores(scored.scores, state.labels)
        return Answers(predicted, class_probabilities(state, columns), scored.codes, scored.kept)
    known = met_before(scored.codes, scored.met, scored.scores.shape[1])
    found, counts = np.zeros(scored.scores.shape), known.sum(axis=1)
    for count in np.unique(counts[counts > 0]).tolist():  # the classes known before a row are the first columns
        rows = np.flatnonzero(counts == count)
        found[rows, :count] = class_probabilities(state, scored.scores[rows, :count])
    return Answers(predicted, found, scored.codes, scored.kept)


def labels_of(state: State, codes: Vector, kept: Mask) -> NDArray[Any]:
    """Predicted codes as numbers or labels, one for each row; NaN or None for rows that have none."""
    if state.target.task == "regression":
        return spread(codes, kept)
    labels = [*state.target.classes(state.labels), None]  # code -1 selects the last entry, None
    found = np.empty(len(codes), dtype=object)
    found[:] = [labels[int(code)] for code in codes.tolist()]
    return spread(found, kept)


def class_probabilities(state: State, scores: Matrix) -> Matrix:
    """The probabilities of the classes, computed from their scores."""
    return probabilities(scoring(state.learner), scores, are_signs(state)) if scores.size else scores


def are_signs(state: State) -> bool:
    """Whether the learner's labels of two classes are -1 and 1, not 0 and 1."""
    return not state.target.one_hot or bool(state.learner.absent < 0.0)


def spread(answers: NDArray[Any], kept: Mask) -> NDArray[Any]:
    """One answer for each row. Rows that were not kept get NaN, or None if answers are labels."""
    if kept.all():
        return answers
    every = np.full((len(kept), *answers.shape[1:]), None if answers.dtype == object else np.nan, dtype=answers.dtype)
    every[kept] = answers
    return every
