"""Exact ridge regression, one row at a time: A = λI + Σ w v vᵀ and b = Σ w y v. All outputs share one A.

There are two forms of the same numbers. Settings and data choose between them, not the user:

    form      what is stored                                                 when
    inverse   A⁻¹ in one triangle, blocks at the speed of matrix products    a ridge that is not tiny, no forgetting
    factor    R with RᵀR = A, rotations only                                 forgetting, a tiny ridge, or rows with which the
                                                                             inverse form would lose too many digits

`learn` moves from the inverse to the factor form at most once, before the first row that requires it, and marks it in the state.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.linalg import factor, inverse
from onkel.one_row import Row, Step
from onkel.state import Counted, counter, memory

SMALLEST_HONEST_RIDGE = 1e-6  # with a smaller `lam` the factor form is used from the start
SCALARS = 5  # the number of single numbers in a Ridge, for `footprint`


@memory
class Ridge(Counted):
    matrix: Matrix  # (r, r)        upper triangle of A⁻¹, or of R
    coef: Matrix  # (outputs, r)  A⁻¹b, or R⁻ᵀb
    diagonal: Vector  # (r,)          diagonal of A; kept up to date in the inverse form only
    scale: Vector  # (1,)          in the factor form A = scale² RᵀR
    learnt: Counts = counter()
    clamped: Counts = counter()  # how often rounding made vᵀA⁻¹v negative and it was set to 0
    factored: int = 0  # 1 in the factor form
    moved: int = 0  # 1 if a row caused a move to the factor form (settings can require it from the start)


def init(r: int, outputs: int, lam: float, forgetting: float) -> Ridge:
    factored = forgetting < 1.0 or lam < SMALLEST_HONEST_RIDGE
    matrix = np.zeros((r, r))
    np.fill_diagonal(matrix, np.sqrt(lam) if factored else 1.0 / lam)
    return Ridge(matrix, np.zeros((outputs, r)), np.full(r, lam), np.ones(1), factored=int(factored))


def footprint(r: int, outputs: int) -> int:
    return 8 * (r * r + outputs * r + r + SCALARS)


def check(ridge: Ridge, lam: float, forgetting: float) -> None:
    """Refuse a ridge that no rows can lead to with these settings."""
    if not ridge.factored and (forgetting < 1.0 or lam < SMALLEST_HONEST_RIDGE):
        raise InputError("its ridge is in the inverse form, which these settings never use")
    if (
        ridge.scale[0] <= 0.0
        or ridge.rows < 0
        or ridge.clamped[0] < 0
        or np.diag(ridge.matrix).min() <= 0.0
        or ridge.diagonal.min() <= 0.0
    ):
        raise InputError("its ridge has a diagonal that is not positive")
    if not ridge.factored:
        try:
            np.linalg.cholesky(ridge.matrix, upper=True)
        except np.linalg.LinAlgError:
            raise InputError("its ridge is not positive definite") from None


def learn(
    ridge: Ridge, V: Matrix, Y: Matrix, weight: Vector, awv: bool, lam: float, forgetting: float, scores: Matrix
) -> None:  # fmt: skip
    """Write the score of each row before it is learnt; V is (n, r), Y is (n, outputs)."""
    done = 0
    if not ridge.factored:
        matrices = ridge.matrix, ridge.coef, ridge.diagonal
        done, sound = inverse.learn(*matrices, ridge.learnt, ridge.clamped, V, Y, weight, awv, scores)
        if not sound:
            move_to_factor(ridge)
    if done < len(V):
        matrices, rows = (ridge.matrix, ridge.coef, ridge.scale), (V[done:], Y[done:], weight[done:])
        factor.learn(*matrices, ridge.learnt, *rows, awv, lam, forgetting, scores[done:])


def predict(ridge: Ridge, V: Matrix, awv: bool, lam: float, forgetting: float, scores: Matrix) -> None:
    """Write the score of each row as if it came next; changes nothing."""
    if ridge.factored:
        factor.predict(ridge.matrix, ridge.coef, float(ridge.scale[0]), ridge.rows, V, awv, lam, forgetting, scores)
    else:
        inverse.predict(ridge.matrix, ridge.coef, V, awv, scores)


def row_steps(ridge: Ridge, V: Matrix, row: Row, awv: bool) -> tuple[Step, Step]:
    """The call that scores, and the one that learns, a row with the features V, in the inverse form. If the row requires a move to
    the factor form, its weight is set to 0, and nothing is learnt."""
    (P, theta), (p, grown) = (ridge.matrix, ridge.coef), np.empty((2, V.shape[1]))
    own, given = (P, theta, ridge.diagonal, ridge.learnt, ridge.clamped), (V, row.Y, row.weight)
    score = partial(inverse.predict_rows, P, theta, V, awv, row.scores, p)
    return score, partial(inverse.learn_single, *own, *given, awv, row.scores, p, grown)


def move_to_factor(ridge: Ridge) -> None:
    """Replace A⁻¹ by R and θ by Rθ. A⁻¹ = D C D, where C has unit diagonal and C = M Mᵀ for an upper triangular M; R = M⁻¹D⁻¹.

    The diagonal of C⁻¹ is the variance inflation of the features. The inverse form keeps it below a limit, so C is far from
    singular.
    """
    D = np.sqrt(np.diag(ridge.matrix))
    C = (np.triu(ridge.matrix) + np.triu(ridge.matrix, 1).T) / np.outer(D, D)
    M = np.linalg.cholesky(C[::-1, ::-1])[::-1, ::-1]
    R = np.triu(np.linalg.solve(M, np.diag(1.0 / D)))
    vars(ridge).update(matrix=R, coef=ridge.coef @ R.T, factored=1, moved=1)  # one step, which no interrupt can split


def widened(ridge: Ridge, outputs: int) -> Ridge:
    """A ridge with more outputs, whose labels were 0 until now: exactly as if they had been there from the first row."""
    return replace(ridge, coef=np.pad(ridge.coef, ((0, outputs - len(ridge.coef)), (0, 0))))


def notes(ridge: Ridge, lam: float, forgetting: float) -> list[str]:
    said = []
    if ridge.moved:
        said.append(
            "features are too large or too alike for this ridge, so the slower factor form is used (standardise or raise lam)"
        )
    if clamped := int(ridge.clamped[0]):
        said.append(f"rounding made a leverage negative {clamped} times; it was set to 0")
    return said + factor.fading_notes(lam, forgetting, len(ridge.matrix), ridge.rows) if ridge.factored else said
