"""MercerProjection: least squares on the first functions of an eigen-system, of which there may be more as rows come.

    f̂ = argmin Σ (y − θ·ψ(x))² + λ‖θ‖²        over the first N functions ψ_1 … ψ_N of a kernel's eigen-system

    growing    (`rate` c)   N functions from ⌊c N^((2α+d)/d)⌋ rows on, α = `smoothness`: the rate of Zhang & Simon
    following  (no rate)    every N up to `count` at once, mixed by their losses so far (`onkel.mixing`): on every sequence with
                            |y| ≤ Y at most 2Y²(1 + ln(N Σ_{M ≤ count} 1/M)) worse than any N

One factor RᵀR = A = λI + Σ ψψᵀ serves all N: its leading block is the factor of the first functions alone. With z = R⁻ᵀψ and
c = R⁻ᵀb, the prediction of N is z_1 c_1 + … + z_N c_N, and its variance σ²(z_1² + … + z_N²). For f in the space and enough noise
moments the error is O(n^(−α/(2α+d)) √log n) when growing. O(r²) a row and in memory, r the functions of the last level.
No row is kept.

Zhang & Simon (2021), An online projection estimator for nonparametric regression in reproducing kernel Hilbert spaces.
Departs from the paper: a ridge λ; a triangular factor in the place of Sherman and Morrison's formula; "at least" so many rows,
where "exactly" can wait for ever; `forgetting` (as in PKAWV; then 1 + μ + μ² + … rows count); row weights; several outputs.

>>> X = np.random.default_rng(0).uniform(size=(4000, 1))
>>> y = np.sin(9.0 * X[:, 0] ** 2) + np.random.default_rng(1).normal(size=4000)
>>> learner = onkel.MercerProjection(onkel.Cosine(domain=(0.0, 1.0)))
>>> state = learner.init(dim=1)
>>> scores = learner.learn(state, X, y)
>>> round(float(np.mean((learner.predict(state, X) - np.sin(9.0 * X[:, 0] ** 2)) ** 2)), 3)
0.008
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_weight
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import instance, real, whole
from onkel.errors import InputError
from onkel.features.mercer import ProductSystem, System
from onkel.learners.domains import on_domains, unwrapped
from onkel.learners.protocol import check_sizes, check_wider
from onkel.linalg.factor import check_factor, learn_solved, solve_row, workspace
from onkel.mixing import aggregate, cut, shares

ROWS_AT_ONCE = 1024  # functions are computed for so many rows at a time, to keep memory flat
SMALLEST_SCALE = 1e-4  # below it the scale is folded into R and c
ROUNDING = 1e-14  # of c N^p, which may be a whole number but for it
LARGEST_LOSS = 1e150


class Rule(NamedTuple):
    """The settings, as compiled code sees them."""

    widths: Counts  # functions of each level
    needed: Vector  # rows that each level waits for; all infinite where every level speaks
    prior: Vector  # of each level
    lam: float
    forgetting: float
    clip: float  # infinite where there is none


class Fit(NamedTuple):
    """What compiled code sees of a `State`."""

    matrix: Matrix
    coef: Matrix
    scale: Vector
    losses: Matrix
    squares: Matrix
    largest: Vector


@dataclass
class State:
    matrix: Matrix  # (r, r)  R, upper triangular: scale² RᵀR = A
    coef: Matrix  # (outputs, r)  c = R⁻ᵀb / scale²
    scale: Vector  # (1,)
    losses: Matrix  # (outputs, levels)  L_N: of each level's predictions, cut to the largest label so far
    squares: Matrix  # (outputs, levels)  Σ w (y − θ·ψ)² + λ‖θ‖² at each level's best θ
    largest: Vector  # (outputs,)  B: the largest |y| so far; the clip, where there is one
    rows: int = 0  # learnt so far
    dim: int = 1
    outputs: int = 1


@final
@on_domains
@dataclass(frozen=True)
class MercerProjection:
    """The online projection estimator."""

    system: System = ProductSystem()  # of X as it is; scale it first
    count: int = 100  # the most levels; a level is one function more (of an additive system: one more in each column)
    rate: float | None = None  # c; None: every level speaks
    smoothness: float = 1.0  # α, where there is a rate
    lam: float = 1.0  # λ: the ridge
    forgetting: float = 1.0  # μ: the weight of a row fades by this factor each round; 1 = never
    clip: float | None = None  # scores stay within ±clip; None: where they fall

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 1e-9

    def __post_init__(self) -> None:
        instance(self, "system", System, "Cosine(domain=(0.0, 1.0))")
        whole(self, "count", 1, 10_000)
        real(self, "rate", least=1e-30, most=1e30, optional=True)
        real(self, "smoothness", least=1e-3, most=1e3)
        real(self, "lam", least=1e-30, most=1e30)
        real(self, "forgetting", least=1e-3, most=1.0)
        real(self, "clip", least=1e-30, most=1e50, optional=True)

    def _levels(self, dim: int) -> int:
        return min(self.count, self.system.limit(dim))

    def _functions(self, dim: int) -> int:
        return self.system.size(self._levels(dim), dim)

    def _rule(self, dim: int) -> Rule:
        levels = np.arange(1, self._levels(dim) + 1)
        widths = np.array([self.system.size(int(N), dim) for N in levels])
        needed = np.full(len(levels), np.inf)
        if self.rate is not None:
            d = self.system.dimension(dim)
            power = (2.0 * self.smoothness + d) / d
            needed = np.maximum(np.floor(self.rate * levels**power * (1.0 + ROUNDING)), widths)
            needed[0] = 0.0
        clip = math.inf if self.clip is None else self.clip
        return Rule(widths, needed, 1.0 / levels, self.lam, self.forgetting, clip)

    def init(self, dim: int, outputs: int = 1) -> State:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        r, levels = self._functions(dim), self._levels(dim)
        return State(
            math.sqrt(self.lam) * np.eye(r), np.zeros((outputs, r)), np.ones(1),
            np.zeros((outputs, levels)), np.zeros((outputs, levels)), np.full(outputs, self.clip or 0.0), dim=dim, outputs=outputs,
        )  # fmt: skip

    def learn(self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, state.outputs)
        return self._rounds(state, rows, labels, check_weight(weight, len(rows))).reshape(shape)

    def predict(self, state: State, X: ArrayLike) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        rows = check_inputs(X, state.dim)
        scores = self._rounds(state, rows, np.zeros((len(rows), state.outputs)), np.zeros(len(rows)))
        return scores if state.outputs > 1 else scores[:, 0]

    def _rounds(self, state: State, rows: Matrix, labels: Matrix, weight: Vector) -> Matrix:
        scores, rule, fit = np.empty(labels.shape), self._rule(state.dim), _fit(state)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            Psi = self.system.functions(rows[now], len(state.matrix))
            state.rows = _learn(fit, state.rows, Psi, labels[now], weight[now], rule, scores[now])
        return scores

    def level(self, state: Any) -> int:
        """N of the next score where it grows; else the level that has the largest share in it (of the first output)."""
        self, state = unwrapped(self, state)
        rule = self._rule(state.dim)
        if self.rate is not None:
            return grown(rule.needed, effective(state.rows, self.forgetting))
        return 1 + int(np.argmax(self.shares(state)[0]))

    def shares(self, state: Any) -> Matrix:
        """v_N: what each level counts for in the next score of each output, (outputs, levels)."""
        self, state = unwrapped(self, state)
        out = np.zeros(state.losses.shape)
        if self.rate is not None:
            out[:, self.level(state) - 1] = 1.0
            return out
        for o in range(state.outputs):
            shares(state.losses[o], self._rule(state.dim).prior, float(state.largest[o]), out[o])
        return out

    def standard_error(self, state: Any, X: ArrayLike) -> Vector:
        """Of the fitted curve at each row, for noise that is the same everywhere: σ̂ √(ψᵀA⁻¹ψ), σ̂² = (RSS + λ‖θ‖²)/(n − N). Infinite
        while there are no more rows than functions. It covers chance, not what the functions cannot represent."""
        self, state = unwrapped(self, state)
        rows = check_inputs(X, state.dim)
        rule, share = self._rule(state.dim), self.shares(state)
        Psi = self.system.functions(rows, len(state.matrix))
        R, c, scale = _ahead(_fit(state), state.rows, rule)
        Z = np.empty(Psi.shape)
        for i in range(len(rows)):
            z = Psi[i].copy()
            solve_row(R, z)
            Z[i] = z
        leverage = np.cumsum(Z * Z, axis=1)[:, rule.widths - 1] / scale**2  # (n, levels)
        n, out = effective(state.rows, self.forgetting), np.empty((len(rows), state.outputs))
        for o in range(state.outputs):
            curves = np.cumsum(Z * c[o], axis=1)[:, rule.widths - 1]
            free = n - rule.widths
            with np.errstate(divide="ignore", invalid="ignore"):
                variance = np.where(free > 0, state.squares[o] / np.where(free > 0, free, 1.0), np.inf) * leverage
            used = share[o] > 0.0
            mean = curves[:, used] @ share[o, used]
            out[:, o] = np.sqrt((variance[:, used] + (curves[:, used] - mean[:, None]) ** 2) @ share[o, used])
        return out if state.outputs > 1 else out[:, 0]

    def band(self, state: Any, X: ArrayLike, confidence: float = 0.95, everywhere: bool = False) -> tuple[Vector, Vector]:
        """Where the curve lies, below and above, at each row by itself, or at all of them at once (Scheffé)."""
        if not 0.0 < confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
        error, curve = self.standard_error(state, X), self.predict(state, X)
        functions = self.system.size(self.level(state), state.dim)
        quantile = scipy.stats.norm.ppf(0.5 + confidence / 2.0)
        if everywhere:
            quantile = math.sqrt(scipy.stats.chi2.ppf(confidence, functions))
        return curve - quantile * error, curve + quantile * error

    def widen(self, state: State, outputs: int) -> None:
        """Add outputs in mid-stream; each starts exactly as if its label had been 0 in every row so far."""
        more = check_wider(self, state, outputs) - state.outputs
        state.coef = np.pad(state.coef, ((0, more), (0, 0)))
        state.losses, state.squares = np.pad(state.losses, ((0, more), (0, 0))), np.pad(state.squares, ((0, more), (0, 0)))
        state.largest = np.append(state.largest, np.full(more, self.clip or 0.0))
        state.outputs += more

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        r = self._functions(dim)
        return 8 * (r * r + outputs * (r + 2 * self._levels(dim) + 1) + 1 + 3)

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        r, levels = self._functions(state.dim), self._levels(state.dim)
        check_factor(state.matrix, state.coef, r, self.lam * 1e-9 if self.forgetting < 1.0 else self.lam)
        if state.losses.shape[1] != levels or not 0.0 < state.scale[0] <= 1.0 or (self.forgetting == 1.0 and state.scale[0] < 1.0):
            raise InputError("its sizes are not those of its settings")
        sums = (state.losses, state.squares, state.largest)
        if any(not np.all((part >= 0.0) & (part <= LARGEST_LOSS)) for part in sums) or state.rows < 0:
            raise InputError("its losses are not sums of squares")
        if self.clip is not None and np.any(state.largest != self.clip):
            raise InputError("its largest label is not its clip")

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        d = self.system.dimension(state.dim)
        said = []
        if self.rate is not None and self.level(state) == self.count:
            said.append(f"all {self.count} levels are in use and no more will come (raise count)")
        if self.rate is not None and self.smoothness <= 0.5 * d:
            said.append(f"smoothness {self.smoothness:g} is at most half of the dimension {d}: the theory says nothing there")
        return said


def effective(rows: int, forgetting: float) -> float:
    """The rows that still count: 1 + μ + … + μ^(rows − 1)."""
    return float(rows) if forgetting == 1.0 else (1.0 - forgetting**rows) / (1.0 - forgetting)


def grown(needed: Vector, rows: float) -> int:
    """N: the last of the levels, one after the other, whose rows are there."""
    enough = needed <= rows
    return len(needed) if enough.all() else max(1, int(np.argmin(enough)))


def _fit(state: State) -> Fit:
    return Fit(state.matrix, state.coef, state.scale, state.losses, state.squares, state.largest)


@hot
def _learn(fit: Fit, rows: int, Psi: Matrix, Y: Matrix, weight: Vector, rule: Rule, scores: Matrix) -> int:
    """Score, then learn, each row: how many have been learnt."""
    r, outputs, levels = fit.matrix.shape[0], Y.shape[1], rule.widths.size
    z, label, work = np.empty(r), np.empty(outputs), workspace(r)
    curves, leverages = np.empty((outputs, levels)), np.empty(levels)
    is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
    for i in range(Psi.shape[0]):
        for j in range(r):
            z[j] = Psi[i, j]
        if weight[i] > 0.0:
            _begin_round(fit, rows, rule, z, work)
            for j in range(r):
                z[j] = Psi[i, j]
            is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
        elif not is_ahead and rule.forgetting < 1.0:
            R, c, scale = _ahead(fit, rows, rule)
            is_ahead = True
        solve_row(R, z)
        _levels(z, c, scale, rule.widths, curves, leverages)
        _write_scores(curves, fit, rows, rule, scores[i])
        if weight[i] > 0.0:
            _count(fit, curves, leverages, Y[i], weight[i], rule)
            root = np.sqrt(weight[i]) / scale
            for j in range(r):
                z[j] *= root
            for o in range(outputs):
                label[o] = root * Y[i, o]
            learn_solved(fit.matrix, fit.coef, z, label, work)
            rows += 1
    return rows


@hot
def _begin_round(fit: Fit, rows: int, rule: Rule, z: Vector, work: Matrix) -> None:
    """What came before fades, and one coordinate's ridge returns: λ(1 − μʳ) e_j e_jᵀ with j = rows mod r. z is used up."""
    if rule.forgetting == 1.0:
        return
    r = z.size
    fit.scale[0] *= np.sqrt(rule.forgetting)
    if fit.scale[0] < SMALLEST_SCALE:
        for i in range(r):
            for j in range(i, r):
                fit.matrix[i, j] *= fit.scale[0]
            for o in range(fit.coef.shape[0]):
                fit.coef[o, i] *= fit.scale[0]
        fit.scale[0] = 1.0
    for j in range(r):
        z[j] = 0.0
    z[rows % r] = np.sqrt(rule.lam * (1.0 - rule.forgetting**r)) / fit.scale[0]
    solve_row(fit.matrix, z)
    learn_solved(fit.matrix, fit.coef, z, np.zeros(fit.coef.shape[0]), work)


@hot
def _ahead(fit: Fit, rows: int, rule: Rule) -> tuple[Matrix, Matrix, float]:
    """R, c and the scale as they will be when the next row is scored."""
    after = Fit(fit.matrix.copy(), fit.coef.copy(), fit.scale.copy(), fit.losses, fit.squares, fit.largest)
    _begin_round(after, rows, rule, np.empty(fit.matrix.shape[0]), workspace(fit.matrix.shape[0]))
    return after.matrix, after.coef, after.scale[0]


@hot
def _levels(z: Vector, c: Matrix, scale: float, widths: Counts, curves: Matrix, leverages: Vector) -> None:
    """Each level's prediction and ψᵀA⁻¹ψ: sums over its functions, and those of the levels before."""
    j, leverage = 0, 0.0
    for o in range(c.shape[0]):
        curves[o, 0] = 0.0
    for N in range(widths.size):
        if N > 0:
            for o in range(c.shape[0]):
                curves[o, N] = curves[o, N - 1]
        while j < widths[N]:
            leverage += z[j] * z[j]
            for o in range(c.shape[0]):
                curves[o, N] += z[j] * c[o, j]
            j += 1
        leverages[N] = leverage / (scale * scale)


@hot
def _write_scores(curves: Matrix, fit: Fit, rows: int, rule: Rule, scores: Vector) -> None:
    grows = rule.needed[0] == 0.0
    level = 0
    if grows:
        there = float(rows) if rule.forgetting == 1.0 else (1.0 - rule.forgetting**rows) / (1.0 - rule.forgetting)
        while level + 1 < rule.needed.size and rule.needed[level + 1] <= there:
            level += 1
    for o in range(scores.size):
        score = curves[o, level] if grows else aggregate(curves[o], fit.losses[o], rule.prior, fit.largest[o])
        scores[o] = cut(score, rule.clip)


@hot
def _count(fit: Fit, curves: Matrix, leverages: Vector, y: Vector, weight: float, rule: Rule) -> None:
    """The losses of all levels, and the largest label."""
    for o in range(y.size):
        bound = fit.largest[o]
        for N in range(leverages.size):
            loss = cut(y[o], bound) - cut(curves[o, N], bound)
            fit.losses[o, N] = rule.forgetting * fit.losses[o, N] + loss * loss
            error = y[o] - curves[o, N]
            square = weight * error * error / (1.0 + weight * leverages[N])
            fit.squares[o, N] = rule.forgetting * fit.squares[o, N] + square
        if rule.clip == np.inf:
            fit.largest[o] = max(bound, abs(y[o]))
