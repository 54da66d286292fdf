"""Ridge regression one row at a time, exactly: A = λI + Σ w v vᵀ and b = Σ w y v, several outputs sharing one A.

Two forms of the same numbers, and no field to choose between them:

    inverse   A⁻¹ in one triangle, blocks at the speed of matrix products    an honest ridge, no forgetting
    factor    R with RᵀR = A, rotations only                                 forgetting, a tiny ridge, or rows that would cost
                                                                             the inverse form its digits

The move from inverse to factor happens inside `learn`, at most once, before the rows that demand it; it is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.linalg import factor, inverse

SMALLEST_HONEST_RIDGE = 1e-6  # a `lam` below it starts in the factor form
NUMBERS_BESIDE_THE_ARRAYS = 5  # of a Ridge, for `footprint`


@dataclass
class Ridge:
    matrix: Matrix  # (r, r)        upper triangle of A⁻¹, or of R
    coef: Matrix  # (outputs, r)  A⁻¹b, or R⁻ᵀb
    diagonal: Vector  # (r,)          of A; kept up to date in the inverse form only
    rows: int = 0  # learnt so far
    factored: int = 0  # 1 in the factor form
    moved: int = 0  # 1 when a row, not a setting, brought the factor form
    clamped: int = 0  # times rounding made vᵀA⁻¹v negative and it was set to 0
    scale: float = 1.0  # in the factor form A = scale² RᵀR


def init(r: int, outputs: int, lam: float, forgetting: float) -> Ridge:
    factored = forgetting < 1.0 or lam < SMALLEST_HONEST_RIDGE
    matrix = np.zeros((r, r))
    np.fill_diagonal(matrix, np.sqrt(lam) if factored else 1.0 / lam)
    return Ridge(matrix, np.zeros((outputs, r)), np.full(r, lam), factored=int(factored))


def footprint(r: int, outputs: int) -> int:
    return 8 * (r * r + outputs * r + r + NUMBERS_BESIDE_THE_ARRAYS)


def check(ridge: Ridge, lam: float, forgetting: float) -> None:
    """Refuse numbers that no sequence of rows can have made under these settings."""
    if not ridge.factored and (forgetting < 1.0 or lam < SMALLEST_HONEST_RIDGE):
        raise InputError("its ridge is in the inverse form, which these settings never use")
    if ridge.scale <= 0.0 or np.diag(ridge.matrix).min() <= 0.0 or ridge.diagonal.min() <= 0.0:
        raise InputError("its ridge has a diagonal that is not positive")
    if not ridge.factored:
        try:
            np.linalg.cholesky(ridge.matrix, upper=True)
        except np.linalg.LinAlgError:
            raise InputError("its ridge is not positive definite") from None


def check_form(ridge: Ridge, forgetting: float) -> None:
    """A state in the inverse form cannot forget."""
    if forgetting < 1.0 and not ridge.factored:
        raise InputError("this state was begun without forgetting; begin a new one with init")


def learn(ridge: Ridge, V: Matrix, Y: Matrix, weight: Vector, awv: bool, lam: float, forgetting: float) -> Matrix:
    """The score of each row before it is learnt; V is (n, r), Y is (n, outputs)."""
    check_form(ridge, forgetting)
    scores = np.empty(Y.shape)
    done = 0
    if not ridge.factored:
        done, sound, ridge.rows, clamped = inverse.learn(
            ridge.matrix, ridge.coef, ridge.diagonal, ridge.rows, V, Y, weight, awv, scores
        )
        ridge.clamped += clamped
        if not sound:
            move_to_factor(ridge)
    if done < len(V):
        ridge.rows, ridge.scale = factor.learn(
            ridge.matrix,
            ridge.coef,
            ridge.scale,
            ridge.rows,
            V[done:],
            Y[done:],
            weight[done:],
            awv,
            lam,
            forgetting,
            scores[done:],
        )
    return scores


def predict(ridge: Ridge, V: Matrix, awv: bool, lam: float, forgetting: float) -> Matrix:
    """The score each row would get if it came next; changes nothing."""
    check_form(ridge, forgetting)
    scores = np.empty((len(V), len(ridge.coef)))
    if ridge.factored:
        factor.predict(ridge.matrix, ridge.coef, ridge.scale, ridge.rows, V, awv, lam, forgetting, scores)
    else:
        inverse.predict(ridge.matrix, ridge.coef, V, awv, scores)
    return scores


def move_to_factor(ridge: Ridge) -> None:
    """From A⁻¹ = D C D, with C of unit diagonal, to R = M⁻¹D⁻¹, where C = M Mᵀ and M is upper triangular; from θ to Rθ.

    The diagonal of C⁻¹ is the features' inflation, which the inverse form keeps below a limit: C is far from singular.
    """
    D = np.sqrt(np.diag(ridge.matrix))
    C = (np.triu(ridge.matrix) + np.triu(ridge.matrix, 1).T) / np.outer(D, D)
    M = np.linalg.cholesky(C[::-1, ::-1])[::-1, ::-1]
    ridge.matrix[:] = np.triu(np.linalg.solve(M, np.diag(1.0 / D)))
    ridge.coef[:] = ridge.coef @ ridge.matrix.T
    ridge.factored = ridge.moved = 1


def widen(ridge: Ridge, outputs: int) -> None:
    """Add outputs whose labels were 0 until now; they start exactly as if they had been there from the first row."""
    ridge.coef = np.vstack([ridge.coef, np.zeros((outputs - len(ridge.coef), ridge.coef.shape[1]))])


def notes(ridge: Ridge) -> list[str]:
    said = []
    if ridge.moved:
        said.append(
            "features too large or too alike for this ridge: moved to the factor form (for speed, standardise or raise lam)"
        )
    if ridge.clamped:
        said.append(f"rounding made a leverage negative {ridge.clamped} times; it was set to 0")
    return said
