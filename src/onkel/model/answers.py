"""What a model says of rows: scores, and the answers that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.model.target import Mask


class Scored(NamedTuple):
    """The scores of the rows of a table before each was learnt, beside the codes of their labels (`Target`)."""

    scores: Vector
    codes: Vector
    kept: Mask  # which rows of the table these are: others lack a label, or a value where such rows are dropped
    met: int  # classes that were known before the table


@dataclass(frozen=True)
class Answers:
    """What a model said of the rows of a table before it learnt each of them, beside their labels; both as codes (`Target`)."""

    predicted: Vector  # -1 where no class was known yet
    probabilities: Matrix | None  # of each class; None for numbers
    actual: Vector
    kept: Mask  # which rows of the table these are


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One below the other; where a class came between two of them, 0 for it before."""
    if len(parts) == 1 or not parts:
        return parts[0] if parts else np.empty(0)
    if parts[0].ndim == 2:
        width = max(part.shape[1] for part in parts)
        parts = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.concatenate(parts)


def spread(answers: NDArray[Any], kept: Mask) -> NDArray[Any]:
    """One answer a row; NaN, or None for labels, for rows that were not kept."""
    if kept.all():
        return answers
    every = np.full((len(kept), *answers.shape[1:]), None if answers.dtype == object else np.nan, dtype=answers.dtype)
    every[kept] = answers
    return every
