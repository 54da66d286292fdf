"""What a model returns for rows: scores, and the answers made of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.model.target import Mask


class Scored(NamedTuple):
    """The score of each row of a table before it was learnt, and the code of its label (see `Target`)."""

    scores: Vector
    codes: Vector
    kept: Mask  # which rows of the table these are; the others lack a label, or were dropped because a value is missing
    met: int  # classes that were known before the table


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
    kept: Mask  # which rows of the table these are


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks, one below the other. A class that an earlier block did not know yet has 0 there."""
    if len(parts) == 1 or not parts:
        return parts[0] if parts else np.empty(0)
    if parts[0].ndim == 2:
        width = max(part.shape[1] for part in parts)
        parts = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.concatenate(parts)


def spread(answers: NDArray[Any], kept: Mask) -> NDArray[Any]:
    """One answer for each row. Rows that were not kept get NaN, or None if answers are labels."""
    if kept.all():
        return answers
    every = np.full((len(kept), *answers.shape[1:]), None if answers.dtype == object else np.nan, dtype=answers.dtype)
    every[kept] = answers
    return every
