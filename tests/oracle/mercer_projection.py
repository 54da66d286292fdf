"""The online projection estimator from its definition: before every row a least-squares fit to all rows learnt, from scratch.

With n rows learnt (with forgetting μ: n = Σ_{i<n} μ^i, those that still count) and the first k functions, k = columns(N):

    f̂ = argmin Σ_i w_i μ^(n−i) (y_i − θ·ψ(x_i))² + Σ_j D_j θ_j²,      i = 0 … n − 1
    D_j = λ,   with forgetting λ (μ^(n+1) + (1 − μ^r) Σ_{s ≤ n, s ≡ j mod r} μ^(n−s)),   r = columns(count)

which is DESIGN's forgetting written as one sum: the ridge returns one coordinate a round, and the round to come has begun.

    growing (rate c)     N is the largest with ⌊c N^((2α+d)/d)⌋ ≤ n and columns(N) ≤ n; at least 1, at most count
    following (None)     all levels N ≤ count, by Vovk's aggregating algorithm for the square loss with fixed shares: B is the
                         largest |y| so far, q_N the level's score cut to [−B, B], ỹ the label cut to it, both with the B of their
                         round, π_N = 1/Nh, h = Σ_{N ≤ count} 1/N, v = π in the beginning,
                         g(y) = −2B² ln Σ v_N e^(−(y − q_N)²/2B²),      score = (g(−B) − g(B))/4B,      0 while B = 0
                         v ∝ v_N e^(−(ỹ − q_N)²/2B²);   v ← (1 − 1/(t+1)) v + π/(t+1), t the rows that count, this one among them
                         (before it they have faded once less); and where B becomes B', v ∝ π (v/π)^(B²/B'²)

For all sequences of T rows and sequences of levels in K pieces, Σ (y − score)² ≤ Σ (y − θ_N·ψ)² + 2Y² (1 + Σ_K ln((T+1)/π_N)),
Y the largest |y|. For the square loss on [−B, B] is mixable at 1/2B²; the mix loss of all rounds can only fall with a falling rate;
and a row with |y| > B costs at most 2(y² − B²) more. Each output has its own B and v. A clip cuts the score, and is B.

A row of weight 0 is scored and leaves no trace; n, B and L count rows whatever their weight. An open domain is the range of the
first hundred rows learnt, which score 0 and are then learnt in order.

Zhang & Simon (2021), An online projection estimator for nonparametric regression in reproducing kernel Hilbert spaces.
"""

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from onkel import AdditiveSystem, Beam, Cosine, Hermite, MercerProjection, ProductSystem, Sine, Sphere
from tests.oracle import remembered
from tests.oracle.mercer import functions
from tests.oracle.systems import columns, is_open, name, settled

Array = NDArray[np.float64]

OPENING = 100  # rows
NUDGE = 1e-14  # relative: c N^p that is a whole number but for rounding counts as that number


@dataclass(frozen=True)
class Run:
    scores: Array  # (n, outputs) of each row before it is learnt
    levels: list[int]  # N in each round, where it grows
    errors: Array  # (rounds, count, outputs): (y − θ_N·ψ)² of each row learnt, by every level
    shares: Array  # (count, outputs): v_N in the end
    cut: tuple[int, int]  # scores that a clip has cut, from below and above
    outside: int  # values learnt that lay outside their domain


# growth


def threshold(N: int, rate: float, smoothness: float, d: int = 1) -> int:
    """⌊c N^((2α+d)/d)⌋: how many rows level N needs."""
    return floor(float(rate * N ** ((2 * smoothness + d) / d) * (1 + NUDGE)))


def grown(config: Any, n: float, dim: int) -> int:
    """N(n)."""
    N, d = 1, dimension(config.system, dim)
    while config.count > N and max(threshold(N + 1, config.rate, config.smoothness, d), columns(config.system, N + 1, dim)) <= n:
        N += 1
    return N


def dimension(system: Any, dim: int) -> int:
    """d of the growth rule: in an additive design every function has one argument, and a sphere in R³ has two dimensions."""
    return {"ProductSystem": dim, "Sphere": 2}.get(name(system), 1)


def effective(n: int, forgetting: float) -> float:
    """1 + μ + … + μ^(n−1)."""
    return sum(forgetting**i for i in range(n))


# the fit


def problem(config: Any, Psi: Array, Y: Array, w: Array) -> tuple[Array, Array]:
    """Rows and labels of which the fit is the plain least-squares solution: those learnt, and the ridge."""
    (n, r), mu, lam = Psi.shape, config.forgetting, config.lam
    fade = np.sqrt(w * mu ** (n - np.arange(n, dtype=float)))[:, None]
    back = [sum(mu ** (n - s) for s in range(j, n + 1, r)) for j in range(r)]
    ridge = np.array([lam * (mu ** (n + 1) + (1 - mu**r) * back[j]) if mu < 1 else lam for j in range(r)])
    return np.vstack([fade * Psi, np.diag(np.sqrt(ridge))]), np.vstack([fade * Y, np.zeros((r, Y.shape[1]))])


def fit(rows: Array, labels: Array, k: int) -> Array:
    """θ on the first k functions."""
    return np.asarray(np.linalg.lstsq(rows[:, :k], labels, rcond=0.0)[0])


def every_level(config: Any, rows: Array, labels: Array, dim: int) -> list[Array]:
    """θ of each level. An orthogonal matrix before all rows changes no least-squares solution; it makes them an upper triangle,
    of which the first k columns have nothing below their first k rows."""
    r = rows.shape[1]
    few = np.asarray(np.linalg.qr(np.hstack([rows, labels]), mode="r"))
    sizes = [columns(config.system, N, dim) for N in range(1, config.count + 1)]
    return [np.asarray(solve_triangular(few[:k, :k], few[:k, r:])) for k in sizes]


def aggregated(q: Array, v: Array, B: float) -> float:
    """Vovk's prediction from those of the levels, all in [−B, B]."""
    if B == 0:
        return 0.0
    g = [-2 * B**2 * np.log(np.sum(v * np.exp(-((y - q) ** 2) / (2 * B**2)))) for y in (-B, B)]
    return float((g[0] - g[1]) / (4 * B))


def prior(count: int) -> Array:
    """π_N."""
    return np.asarray(1 / np.arange(1, count + 1) / sum(1 / N for N in range(1, count + 1)))


def shares(v: Array, q: Array, y: float, B: float, B_new: float, t: float) -> Array:
    """v after a label."""
    pi = prior(len(v))
    if B > 0:
        v = v * np.exp(-((np.clip(y, -B, B) - np.clip(q, -B, B)) ** 2) / (2 * B**2))
        v = (1 - 1 / (t + 1)) * v / v.sum() + pi / (t + 1)
    if B_new > B:
        v = pi * (v / pi) ** (B**2 / B_new**2)
    return np.asarray(v / v.sum())


# the stream


@remembered
def run(config: Any, X: Array, y: Array, weight: Array | None = None) -> Run:
    w, Y = np.ones(len(X)) if weight is None else weight, y.reshape(len(X), -1)
    (n, dim), outputs, system, silent = X.shape, Y.shape[1], config.system, 0
    out, first = np.zeros(Y.shape), np.flatnonzero(w)[:OPENING]
    if is_open(system):
        if len(first) < OPENING:
            return Run(out, [], np.zeros((0, config.count, outputs)), np.zeros((config.count, outputs)), (0, 0), 0)
        silent = first[-1] + 1
    system = settled(system, X[first] if len(first) else X)
    Psi = functions(system, X, columns(system, config.count, dim))
    learnt, levels, errors, cut = list[int](), list[int](), list[Array](), [0, 0]
    v, B = np.tile(prior(config.count)[:, None], (1, outputs)), np.full(outputs, config.clip or 0.0)
    for i in range(n):
        rows, labels = problem(config, Psi[learnt], Y[learnt], w[learnt])
        if config.rate is None:
            p = np.array([Psi[i, : len(theta)] @ theta for theta in every_level(config, rows, labels, dim)])
            score = np.array([aggregated(np.clip(p[:, o], -B[o], B[o]), v[:, o], B[o]) for o in range(outputs)])
        else:
            N = grown(config, effective(len(learnt), config.forgetting), dim)
            k = columns(system, N, dim)
            score = Psi[i, :k] @ fit(rows, labels, k)
        if config.clip is not None:
            cut = [cut[0] + int(np.sum(score < -config.clip)), cut[1] + int(np.sum(score > config.clip))]
            score = np.clip(score, -config.clip, config.clip)
        out[i] = score if i >= silent else 0.0
        if w[i] != 0:
            if config.rate is None:
                errors.append((Y[i] - p) ** 2)
                B_new, t = np.maximum(B, np.abs(Y[i])) if config.clip is None else B, effective(len(learnt), config.forgetting) + 1
                v = np.column_stack([shares(v[:, o], p[:, o], Y[i, o], B[o], B_new[o], t) for o in range(outputs)])
                B = B_new
            else:
                levels.append(N)
            learnt.append(i)
    return Run(out, levels, np.array(errors).reshape(-1, config.count, outputs), v, (cut[0], cut[1]), outside(system, X[learnt]))


def outside(system: Any, X: Array) -> int:
    """Values outside their domain; of a period there is no outside."""
    count = 0
    for base, x in zip(system.base if hasattr(system, "base") else (system,), X.T, strict=False):
        if hasattr(base, "domain") and name(base) != "Periodic":
            count += int(np.sum((x < base.domain[0]) | (x > base.domain[1])))
    return count


def scores(learner: Any, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores.reshape(y.shape)


def predict(learner: Any, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros((len(X_new), *y.shape[1:]))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, np.zeros(len(X_new))]))[len(X) :]


# how sure


@dataclass(frozen=True)
class Bands:
    curve: Array
    error: Array
    error_everywhere: Array
    freedom: float


def ridged(Psi: Array, y: Array, w: Array, ridge: Array, N: int) -> tuple[Array, Array]:
    """θ of the first N functions, and the inverse of their matrix."""
    inverse: Array = np.asarray(np.linalg.inv(Psi[:, :N].T @ (w[:, None] * Psi[:, :N]) + np.diag(ridge[:N])))
    return inverse @ Psi[:, :N].T @ (w * y), inverse


def squared_residuals(Psi: Array, y: Array, w: Array, ridge: Array, N: int) -> Array:
    """w e²/(1 − leverage), leverages above 0.9 counting as 0.9."""
    theta, inverse = ridged(Psi, y, w, ridge, N)
    leverage = w * np.einsum("ij,jk,ik->i", Psi[:, :N], inverse, Psi[:, :N])
    return np.asarray(w * (y - Psi[:, :N] @ theta) ** 2 / (1 - np.minimum(leverage, 0.9)))


def bands(Psi: Array, y: Array, w: Array, lam: float, sizes: list[int], Psi_new: Array) -> Bands:
    """Undersmoothed least squares with all rows in the sample and nothing forgotten, every fit from scratch."""
    n = len(y)
    sizes = [size for size in sizes if size <= max(n / 3, sizes[0])]
    top, full = sizes[-1], np.full(sizes[-1], lam)
    share = min(1.0, squared_residuals(Psi, y, w, full, top).sum() / np.sum(w * y**2))
    ridge = share * full
    losses = w * squared_residuals(Psi, y, w, ridge, top)

    def gain(N: int) -> float:
        """Σ_{j ≤ N} c_j² − 2.2 v_j: what N functions explain (with the ridge), and the variance of the fit in the norm of A."""
        theta, inverse = ridged(Psi, y, w, ridge, N)
        P = Psi[:, :N]
        middle = P.T @ (losses[:, None] * P)
        return float(theta @ (P.T @ (w * y)) - 2.2 * np.trace(inverse @ middle))

    best = 1 + int(np.argmax([gain(N) for N in sizes]))
    wanted = int(np.ceil(1.7 * best)) + 1
    level, half = (wanted, wanted // 2) if wanted <= len(sizes) else (len(sizes), max(len(sizes) // 2, best))
    N, H = sizes[level - 1], sizes[half - 1]
    _, inverse = ridged(Psi, y, w, ridge, min(max(round(n ** (1 / 3)), sizes[0]), N))
    k = len(inverse)
    near = (Psi[:, :k] @ inverse @ Psi[:, :k].T) ** 2
    noise = near @ squared_residuals(Psi, y, w, ridge, N) / near.sum(axis=1)

    def weights(size: int) -> Array:
        """The curve at new rows as a linear function of the labels."""
        _, inverse = ridged(Psi, y, w, ridge, size)
        return np.asarray(Psi_new[:, :size] @ inverse @ (Psi[:, :size] * w[:, None]).T)

    whole, added = weights(N), weights(N) - weights(H)
    variance, apart = whole**2 @ (noise / w), added**2 @ (noise / w)
    errors = [np.sqrt(variance + s * np.maximum((added @ y) ** 2 - v * apart, 0)) for s, v in ((0.5, 2), (1, 1))]
    return Bands(whole @ y, errors[0], errors[1], max(n - N, 1))


# the paper's own recursions, without a ridge


def algorithm2(Psi: Array, y: Array, add_at: dict[int, int]) -> list[Array]:
    """θ after each row by Algorithm 2 as printed, begun after as many rows as it has functions: Sherman-Morrison for a row, the
    block inverse for a function. `add_at`: N → the n at which function N is added; the first of them is 0."""
    N = sum(n == 0 for n in add_at.values())
    start = N
    Phi, out = np.linalg.inv(Psi[:start, :N].T @ Psi[:start, :N]), list[Array]()
    for n in range(start + 1, len(Psi) + 1):
        row = Psi[n - 1, :N]
        Phi = Phi - np.outer(Phi @ row, row @ Phi) / (1 + row @ Phi @ row)
        while add_at.get(N + 1) == n:
            new, old = Psi[:n, N], Psi[:n, :N]
            b = old.T @ new
            k = new @ new - b @ Phi @ b
            Phi = np.block(
                [[Phi + np.outer(Phi @ b, b @ Phi) / k, -(Phi @ b)[:, None] / k], [-(b @ Phi)[None, :] / k, np.ones((1, 1)) / k]]
            )
            N += 1
        out.append(Phi @ Psi[:n, :N].T @ y[:n])
    return out


# what the laws run

GROWING = MercerProjection(AdditiveSystem(Beam((-3.0, 3.0))), count=7, rate=0.02, smoothness=2.0, lam=1e-3, sample=150)
PRODUCT = MercerProjection(ProductSystem(Cosine((-2.0, 2.5))), count=15, rate=0.5, smoothness=2.0, lam=0.01, clip=0.8)
SPHERE = MercerProjection(Sphere(), count=9, rate=1.0, smoothness=1.5, lam=0.1)
FADING = MercerProjection(AdditiveSystem(Sine((-3.0, 3.0))), count=5, rate=0.3, lam=0.1, forgetting=0.97, sample=40)
FOLLOWING = MercerProjection(ProductSystem(Hermite()), count=15, lam=0.5)
OPEN = MercerProjection(AdditiveSystem(Beam(None)), count=5, lam=0.1, forgetting=0.99, clip=1.5)
SMALL = (GROWING, PRODUCT, SPHERE, FADING, FOLLOWING, OPEN)


def stream(config: Any) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0."""
    rng = np.random.default_rng(20210405)
    X = rng.normal([0.0, 0.3, -0.3], 1.0, size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    weight = rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)
    return X, y, weight


def reached(config: Any, state: Any) -> bool:
    """Whether the levels grew one by one to the last (with a short memory, to the one that it allows), or another than the first
    came to the fore; whether a clip was needed on either side; whether values lay outside."""
    X, y, weight = stream(config)
    ran = run(config, X, y, weight)
    if config.rate is None:
        levels = np.argmax(ran.shares[:, 0]) > 0 and ran.shares.min() < 0.05
    else:
        last = 4 if config == FADING else config.count
        levels = ran.levels[0] == 1 and ran.levels[-1] == last == config.level(state) and set(ran.levels) == set(range(1, last + 1))
    clipped = config != PRODUCT or min(ran.cut) > 0
    left = name(config.system) != "AdditiveSystem" or is_open(config.system) or ran.outside > 0  # an open domain has a margin
    places = learnt_places(config, state, X, weight)
    left_out = len(places) == config.sample < len(X[weight > 0]) or config.sample > len(X)
    return bool(state.rows == np.count_nonzero(weight) and levels and clipped and left and left_out)


def learnt_places(config: Any, state: Any, X: Array, weight: Array) -> set[int]:
    """Which of the rows learnt are in the sample."""
    learnt, kept = X[weight > 0], getattr(state, "inner", state).kept.X
    return {int(np.flatnonzero((learnt == row).all(axis=1))[0]) for row in kept[: min(len(learnt), config.sample)]}
