"""PKAWV from its definitions, row by row: dense A and b, one linear solve per score, features by their formulas.

    A ← μA + w v vᵀ + λ(1−μ^r) e_j e_jᵀ,   b ← μb + w y v,   j = t mod r,   t = rows learnt so far
    ridge ŷ = v·A'⁻¹μb with A' = μA + λ(1−μ^r) e_j e_jᵀ,     AWV ŷ = v·(A' + v vᵀ)⁻¹μb

The definitions were written without a look at the fast code. A and b are kept in extended precision and each solve is
refined with residuals in that precision, because with a small λ a plain solve would be the less accurate of the two programs.
"""

from itertools import combinations_with_replacement
from math import erf, exp, factorial, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.features import Chain, Features, Sum
from onkel.random import below

Array = NDArray[np.float64]
Wide = NDArray[np.floating[Any]]  # np.longdouble
Mask = NDArray[np.bool_]


def features(config: Features | tuple[Features, ...], X: Array, learnt: Mask) -> Array:
    """The features of each row; a row that is not learnt is transformed as if it came next, and leaves no trace."""
    n, dim = X.shape
    if isinstance(config, tuple | Chain):
        for stage in config.stages if isinstance(config, Chain) else config:
            X = features(stage, X, learnt)
        return X
    if isinstance(config, Sum):
        return np.hstack([features(part, X, learnt) for part in config.parts])
    if isinstance(config, onkel.Identity):
        return X
    if isinstance(config, onkel.Constant):
        return np.ones((n, 1))
    if isinstance(config, onkel.Standardize):
        clip = np.inf if config.clip is None else config.clip
        return np.array([standardized(np.vstack([X[:t][learnt[:t]], X[t]])).clip(-clip, clip) for t in range(n)])
    if isinstance(config, onkel.Taylor):
        return np.array([taylor(x, config.degree, config.width or sqrt(dim)) for x in X])
    if isinstance(config, onkel.Fourier):
        angle = X @ config.init(dim).frequencies
        return np.hstack([np.cos(angle), np.sin(angle)]) / sqrt(config.count)
    if isinstance(config, onkel.Hats):
        return np.hstack([hats(x, config) for x in X.T])
    if isinstance(config, onkel.Products):
        pairs = zip(config.init(dim).first, config.init(dim).second, strict=True)
        return np.column_stack([(X[:, i] ** 2 - 1) / sqrt(2) if i == j else X[:, i] * X[:, j] for i, j in pairs])
    if isinstance(config, onkel.Ranks):
        return np.array([ranks(X[:t][learnt[:t]], X[t], config.knots) for t in range(n)])
    if isinstance(config, onkel.Project):
        return X @ projection(config, dim)
    if isinstance(config, onkel.Basis):
        eigenvalues, U = np.linalg.eigh(np.array(config.gram, dtype=float))
        return np.vstack([U / np.sqrt(eigenvalues) @ U.T @ np.ravel(config.fn(x[None, :])) for x in X])  # eq. 37: Q^(−1/2) v(x)
    raise TypeError(f"the oracle has no definition of {config!r}")


def standardized(seen: Array) -> Array:
    """The last row, in deviations from the mean of all rows; 0 in a column that never varied."""
    varies = np.ptp(seen, axis=0) > 0
    return np.where(varies, (seen[-1] - seen.mean(axis=0)) / np.where(varies, seen.std(axis=0), 1.0), 0.0)


def taylor(x: Array, degree: int, width: float) -> list[float]:
    """g_k(x) = exp(−‖x‖²/2σ²) Π_i x_i^{k_i} / (σ^{k_i} √k_i!) for all |k| ≤ degree.

    A multi-index is written as the non-decreasing tuple of the coordinates raised; the lexicographic order within a level is that
    of the children of each feature of the level before.
    """
    raised = [c for level in range(degree + 1) for c in combinations_with_replacement(range(len(x)), level)]
    indices = [[c.count(i) for i in range(len(x))] for c in raised]
    bell = exp(-float(x @ x) / (2 * width**2))
    return [bell * prod(float(x[i]) ** k / (width**k * sqrt(factorial(k))) for i, k in enumerate(index)) for index in indices]


def hats(x: Array, config: onkel.Hats) -> Array:
    """One column a knot, of the values of one input."""
    knots = np.linspace(config.low, config.high, config.count)
    away: Array = np.abs(np.clip(x, config.low, config.high)[:, None] - knots) / (knots[1] - knots[0])
    return (1.0 - away).clip(min=0.0)


def ranks(past: Array, x: Array, knots: int) -> Array:
    """√12 (F(x) − ½), by the rows up to the last refresh; before the first, by the normal distribution function."""
    known = max((rows for rows in (32, 128, 512, 2048) if rows <= len(past)), default=0)
    if known == 0:
        return np.array([sqrt(12) * erf(z / sqrt(2)) / 2 for z in standardized(np.vstack([past, x]))])
    sample = past[[4 * k + below(0, 0, k, 4) for k in range(512)]] if known == 2048 else past[:known]
    return np.array([sqrt(12) * (distribution(np.sort(column), at, knots) - 0.5) for column, at in zip(sample.T, x, strict=True)])


def distribution(column: Array, x: float, knots: int) -> float:
    """F(x): linear between quantiles of a sorted column, at which it is the mid-rank."""
    if not column[0] <= x <= column[-1]:
        return float(x > column[-1])
    q = column if len(set(column)) <= knots else column[[round(k * (len(column) - 1) / (knots - 1)) for k in range(knots)]]
    q = np.array(sorted(set(q)))
    less, equal = (column < q[:, None]).mean(axis=1), (column == q[:, None]).mean(axis=1)
    return float(np.interp(x, q, less + equal / 2))


def projection(config: onkel.Project, dim: int) -> Array:
    """(dim, count): in each group of outputs one entry a row."""
    groups = min(config.entries, config.count)
    matrix = np.zeros((dim, config.count))
    for i, places in enumerate(config.init(dim).places):
        for place in places:
            matrix[i, place if place >= 0 else -1 - place] += (1 if place >= 0 else -1) * sqrt(config.count / (dim * groups))
    return matrix


def scores(learner: onkel.PKAWV, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    Z = features(learner.features, X, w != 0).astype(np.longdouble)
    Y = y.reshape(len(X), -1).astype(np.longdouble)
    r, mu, lam = Z.shape[1], np.longdouble(learner.forgetting), np.longdouble(learner.lam)
    A, b, t = lam * np.eye(r, dtype=np.longdouble), np.zeros((r, Y.shape[1]), dtype=np.longdouble), 0
    out = np.zeros(Y.shape)
    for i, v in enumerate(Z):
        decayed = mu * A
        decayed[t % r, t % r] += lam * (1 - mu**r)
        out[i] = v @ solve(decayed + np.outer(v, v) if learner.awv else decayed, mu * b)
        if w[i] != 0:
            A, b, t = decayed + w[i] * np.outer(v, v), mu * b + w[i] * np.outer(v, Y[i]), t + 1
    return out.reshape(y.shape)


def solve(A: Wide, b: Wide) -> Wide:
    """A⁻¹b by np.linalg.solve, refined four times; A is scaled to a unit diagonal first."""
    d = 1 / np.sqrt(np.diag(A))[:, None]
    A, b = d * A * d.T, d * b
    x: Wide = np.zeros_like(b)
    for _ in range(5):
        x = x + np.linalg.solve(A.astype(np.float64), (b - A @ x).astype(np.float64))
    return d * x


def predict(learner: onkel.PKAWV, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros((len(X_new), *y.shape[1:]))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, np.zeros(len(X_new))]))[len(X) :]


_ALL = onkel.Taylor(degree=2, width=2.0) + onkel.Identity() + onkel.Constant()
INVERSE = onkel.PKAWV(features=(onkel.Standardize(), _ALL), lam=0.5)
FORGETFUL = onkel.PKAWV(features=(onkel.Standardize(), _ALL), lam=0.5, awv=False, forgetting=0.82)
FADING = onkel.PKAWV(features=onkel.Fourier(count=5, width=2.0, seed=3) + onkel.Constant(), lam=0.1, forgetting=0.88)
FACTOR = onkel.PKAWV(features=_ALL, lam=1e-7)
MOVING = onkel.PKAWV(features=onkel.Identity() + onkel.Constant(), lam=1e-3)
_INPUTS = onkel.Constant() + onkel.Identity() + onkel.Products(5) + onkel.Fourier(3, kernel=onkel.Laplacian(2.0), spread=2.0)
_RANKED = (onkel.Ranks(), onkel.Hats(4, low=-1.7, high=1.7) + onkel.Project(4))
RICH = onkel.PKAWV(features=Sum((onkel.Standardize(clip=2.0), _INPUTS), _RANKED), lam=0.5)
SMALL = (INVERSE, FORGETFUL, FADING, FACTOR, MOVING, RICH)


def stream(config: onkel.PKAWV) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0; for MOVING the inputs grow ten-thousandfold in mid-stream."""
    rng = np.random.default_rng(20190701)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    weight = rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)
    if config == MOVING:
        X[205:] *= 1e4
    return X, y, weight


def reached(config: onkel.PKAWV, state: Any) -> bool:
    """Whether the stream visited each stage that it was made for."""
    ridge = state.ridge
    learnt = ridge.rows == np.count_nonzero(stream(config)[2])
    factored, moved = config not in (INVERSE, RICH), config == MOVING
    decay = config.forgetting ** (ridge.rows / 2)  # what the scale would be, had it never been folded away
    folded = config.forgetting == 1 or decay < 1e-7 * ridge.scale < 1e-7
    return bool(learnt and folded and ridge.factored == factored and ridge.moved == moved)
