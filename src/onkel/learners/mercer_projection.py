"""MercerProjection: least squares on the first functions of an eigen-system, whose number may grow with the rows.

    f̂ = argmin Σ (y − θ·ψ(x))² + λ‖θ‖²        over the first N functions ψ_1 … ψ_N of a kernel's eigen-system

    growing    (`rate` c)   N functions from row ⌊c N^((2α+d)/d)⌋ on (Zhang & Simon), α = `smoothness`, d: see `rate`
    following  (no rate)    every N up to `count` at once, mixed by their losses (`onkel.mixing`)

When following, the loss is compared with that of the best choice of N, which may change: the rows are cut into K pieces, and each
piece has its own N. On every sequence of T rows with |y| ≤ Y, the loss is larger by at most 2Y²(1 + K ln((T+1) count h)), where
h = 1 + 1/2 + … + 1/count.

One factor RᵀR = A = λI + Σ ψψᵀ is enough for all N: its leading block is the factor of the first functions alone. With z = R⁻ᵀψ and
c = R⁻ᵀb, the prediction of N is z_1 c_1 + … + z_N c_N. When growing, the error is O(n^(−α/(2α+d)) √log n), if f is in the kernel's
space and the noise has enough moments. Confidence bands come from the same sums: `onkel.updates.undersmoothed`.

Memory is O(r²), where r is the number of functions of the last level, and a sample of the rows, used for bands only. A row costs
O(r²) when following. When growing it costs O(N²) for the factor of the functions in use; for the functions not yet in use it costs
O(r²) for sums of products, or O(r) for moments if they are waves (`Sine`, `Cosine`, `Periodic`).

Zhang & Simon (2021), An online projection estimator for nonparametric regression in reproducing kernel Hilbert spaces. Departs from
the paper: there is a ridge λ; a triangular factor instead of the Sherman-Morrison formula; a level begins when there are at least
(not exactly) so many rows; `forgetting` (as in PKAWV; the number of rows is then 1 + μ + μ² + …); row weights; several outputs.

>>> X = np.random.default_rng(0).uniform(size=(4000, 1))
>>> y = np.sin(9.0 * X[:, 0] ** 2) + np.random.default_rng(1).normal(size=4000)
>>> learner = onkel.MercerProjection(onkel.Cosine(domain=(0.0, 1.0)))
>>> state = learner.init(dim=1)
>>> scores = learner.learn(state, X, y)
>>> round(float(np.mean((learner.predict(state, X) - np.sin(9.0 * X[:, 0] ** 2)) ** 2)), 3)
0.007
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, instance, real, whole
from onkel.errors import InputError
from onkel.features.mercer import AdditiveSystem, Cosine, ProductSystem, System
from onkel.features.mercer.waves import Waves
from onkel.groups import Group
from onkel.linalg.factor import SMALLEST_PIVOT, check_factor, factor_column, fading_notes
from onkel.state import Counted, copied, counter, memory, owned
from onkel.turns import Call
from onkel.updates import first_rows
from onkel.updates.domains import SpaceLearner
from onkel.updates.first_rows import FirstRows
from onkel.updates.nested_bands import Fits, Part, fits
from onkel.updates.nested_ridge import SMALLEST_SCALE, NestedFit, NestedSettings, grown, learn, needed_rows, still

ROWS_AT_ONCE = 1024  # rows for which functions are computed at a time, so that they need little memory
FAR_OUT = 20.0  # standard deviations: a note is given if the largest label is farther from 0
LARGEST_LOSS = 1e200  # limit for sums in a state; Σ w y² cannot be nearly as large


@memory
class State(Counted):
    matrix: Matrix  # (r, r)  R in the first `taken` columns, where scale² RᵀR = A; columns of A, not yet factorised, in the others
    coef: Matrix  # (outputs, r)  c = R⁻ᵀb / scale² in the first `taken` columns, entries of b in the others
    scale: Vector  # (1,)
    moments: Matrix  # (2, m)  Σ cos and Σ sin of the rows, for waves; then columns of A not yet factorised have only their ridge
    shares: Matrix  # (outputs, levels)  v_N: the weight of each level
    squares: Matrix  # (outputs, levels)  Σ w (y − θ·ψ)² + λ‖θ‖² at each level's best θ
    largest: Vector  # (outputs,)  B: the clip if there is one, otherwise the largest |y| so far
    kept: FirstRows  # a sample of `sample` rows
    taken: int  # number of functions in R
    learnt: Counts = counter()
    moved: int = 0  # number of rows in the moments
    grown: int = 1  # number of levels in use, when growing
    dim: int = 1
    outputs: int = 1


@final
@config
class MercerProjection(SpaceLearner[State]):
    """The online projection estimator: least squares on the first N functions of a kernel; N grows, or all N are mixed.

    system      The functions ψ_1, ψ_2, … of a kernel, such as Cosine() or AdditiveSystem(Cosine()). Open domains, as of
                these two, are set by the first 100 rows, so X may have any units. Default: ProductSystem(Cosine()).
    count       The largest number of levels; each adds one function (in an additive system one for each column). More
                levels take more time and memory, and fit finer detail. Default: 100.
    rate        c > 0: the N-th function is used from row c N^((2α + d)/d) on, where α is the smoothness and d the dimension
                of the inputs (1 for an additive system); None: all levels are mixed by their losses, which needs no tuning.
                Default: None.
    smoothness  α > 0, how smooth the target is assumed to be; used only with a rate. Default: 1.0.
    lam         λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for noisy
                labels. Default: 1.0.
    forgetting  μ in [0.001, 1]: in each round the weight of past rows is multiplied by it. 1 never forgets; try 0.999 for a
                stream that changes. Default: 1.0.
    clip        Scores are clipped to [−clip, clip]; None: not clipped. Default: None.
    sample      The number of rows kept, a random sample (with forgetting the last ones), from which standard errors and bands take
                the size of the noise. Default: 1000.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for curves with standard errors in fixed memory; with AdditiveSystem(…) one curve for each input"
    cost: ClassVar[str] = "O(r²)"
    memory: ClassVar[str] = "O(r²)"
    paper: ClassVar[str] = "Zhang & Simon 2021"

    system: System = ProductSystem(Cosine())
    count: int = 100
    rate: float | None = None
    smoothness: float = 1.0
    lam: float = 1.0
    forgetting: float = 1.0
    clip: float | None = None
    sample: int = 1000

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
        whole(self, "sample", 1, 10**6)

    @property
    def _space(self) -> System:
        return self.system

    def _in(self, space: System) -> MercerProjection:
        return replace(self, system=space)

    def _levels(self, dim: int) -> int:
        return min(self.count, self.system.limit(dim))

    def _functions(self, dim: int) -> int:
        return self.system.size(self._levels(dim), dim)

    def _init(self, dim: int, outputs: int) -> State:
        r, settings, waves = self._functions(dim), _settings(self, dim), _waves(self, dim)
        taken = r if self.rate is None else int(settings.widths[0])
        matrix, moments = np.diag(np.where(np.arange(r) < taken, math.sqrt(self.lam), self.lam)), waves.moments if waves else 0
        kept = first_rows.empty(self.sample, dim, outputs)
        return State(
            matrix, np.zeros((outputs, r)), np.ones(1), np.zeros((2, moments)), np.tile(settings.prior, (outputs, 1)),
            np.zeros((outputs, len(settings.widths))), np.full(outputs, self.clip or 0.0), kept, taken, dim=dim, outputs=outputs,
        )  # fmt: skip

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        work, call = (copied(state), Call()) if self.system.fallible else (state, call)
        waves, done = _waves(self, state.dim), 0
        while done < len(X):
            if waves:
                call.defer(partial(self._move_moments, work, waves, work.rows, X[done:], Y[done:], weight[done:]))
            done += self._learn(work, waves, X[done:], Y[done:], weight[done:], scores[done:])
            if waves:
                call.complete()
            self._after(work)
        vars(state).update(vars(work))

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        waves, done, Y, weight = _waves(self, state.dim), 0, np.zeros(scores.shape), np.zeros(len(X))
        while done < len(X):
            done += self._learn(state, waves, X[done:], Y[done:], weight[done:], scores[done:])

    def _learn(self, state: State, waves: Waves | None, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> int:
        """Score, then learn, each row. Stops after the row from which the next level is used. Returns the number of rows done."""
        settings = _settings(self, state.dim)
        level = self._level(state, settings)
        wanted = math.inf if level == len(settings.needed) else settings.needed[level] - still(state.rows, self.forgetting)
        now = slice(0, int(min(ROWS_AT_ONCE, max(1.0, wanted))))
        Psi = self.system.functions(X[now], state.taken if waves else len(state.matrix))
        return learn(_fit(state), state.taken, state.learnt, level, X[now], Psi, Y[now], weight[now], settings, scores[now])

    def _level(self, state: State, settings: NestedSettings) -> int:
        return len(settings.widths) if self.rate is None else grown(settings.needed, still(state.rows, self.forgetting))

    def _move_moments(self, state: State, waves: Waves, before: int, X: Matrix, Y: Matrix, weight: Vector) -> None:
        """Add the rows learnt since there were `before` rows to the moments, for waves that are not in use yet."""
        if state.moved == state.rows:
            return
        learnt = np.flatnonzero(weight)[: state.rows - before]
        fading = self.forgetting ** np.arange(len(learnt) - 1.0, -1.0, -1.0)
        rest, u = self.forgetting ** float(len(learnt)), self.system.placed(X[learnt, 0])  # type: ignore[attr-defined]
        moments, coef = rest * state.moments, state.coef.copy()
        coef[:, state.taken :] *= rest
        waves.add(u, weight[learnt] * fading, Y[learnt], moments, coef, state.taken)
        vars(state).update(moments=moments, coef=coef, moved=state.rows)  # one step, which no interrupt can split

    def _settle(self, state: State) -> None:
        self._after(state)

    def _after(self, state: State) -> None:
        """Start the levels that are due, by factorising their functions. This is done on a copy, which is stored in one step."""
        if self.rate is None:
            return
        settings = _settings(self, state.dim)
        if state.grown < (level := self._level(state, settings)):
            work = replace(state, matrix=state.matrix.copy(), coef=state.coef.copy(), squares=state.squares.copy())
            self._grow(work, settings, level)
            vars(state).update(vars(work))

    def _grow(self, state: State, settings: NestedSettings, level: int) -> None:
        for new in range(state.grown, level):
            self._factor_column(state, _waves(self, state.dim), int(settings.widths[new]))
            more = slice(settings.widths[new - 1], settings.widths[new])
            explained = np.sum(state.coef[:, more] ** 2, axis=1) * state.scale[0] ** 2
            state.squares[:, new] = np.maximum(state.squares[:, new - 1] - explained, 0.0)
        state.grown = level

    def _factor_column(self, state: State, waves: Waves | None, width: int) -> None:
        square = state.scale[0] ** 2
        for j in range(state.taken, width):
            if waves:
                state.matrix[: j + 1, j] += waves.products(state.moments, j)
            state.matrix[: j + 1, j] /= square
            state.coef[:, j] /= square
            factor_column(state.matrix, state.coef, j, self._floor(state.dim) / square)
        state.taken = max(state.taken, width)

    def _floor(self, dim: int) -> float:
        """The least ridge that a function can have: it fades for r − 1 rounds before it is restored."""
        return float(max(self.lam * self.forgetting ** (self._functions(dim) - 1), SMALLEST_PIVOT**2))

    def raised(self, state: Any, count: int) -> tuple[MercerProjection, Any]:
        """The learner with `count` levels, more than now, and its state. The new functions start as if they had been 0 in every row
        so far, so it is best to add them before the last level is in use (`notes` says when it is)."""
        if count < self.count:
            raise InputError(f"count can only be raised, from {self.count}, got {count}")
        learner, old = self._alone(state)
        new = learner._taller(old, count)
        taller = replace(self, count=count)
        return taller, owned(taller, new if old is state else replace(copied(state), inner=new))

    def _taller(self, old: State, count: int) -> State:
        taller = replace(self, count=count)
        new, work, r, levels = taller._init(old.dim, old.outputs), copied(old), len(old.matrix), old.squares.shape[1]
        if old.rows == 0:
            return new
        self._factor_column(work, _waves(self, old.dim), r)
        new.matrix[:r, :r], new.coef[:, :r] = work.matrix, work.coef
        if self.rate is None:
            new.matrix[r:, r:] /= work.scale[0]
            new.shares[:, :levels] = work.shares * np.sum(new.shares[0, :levels])
        new.squares[:, :levels], new.squares[:, levels:] = work.squares, work.squares[:, levels - 1 :]
        counts = {"learnt": work.learnt, "moved": work.moved, "grown": work.grown}
        new = replace(new, scale=work.scale, largest=work.largest, kept=work.kept, taken=max(new.taken, r), **counts)
        taller._after(new)
        return new

    def level(self, state: Any) -> int:
        """When growing, the level of the next score; when following, the level with the largest weight for the first output."""
        learner, own = self._alone(state)
        return learner._level_of(own)

    def _level_of(self, state: State) -> int:
        return self._level(state, _settings(self, state.dim)) if self.rate is not None else 1 + int(np.argmax(state.shares[0]))

    def shares(self, state: Any) -> Matrix:
        """v_N: the weight of each level in the next score of each output, (outputs, levels)."""
        learner, own = self._alone(state)
        return learner._shares(own)

    def _shares(self, state: State) -> Matrix:
        if self.rate is None:
            return np.array(state.shares)
        return np.tile(np.arange(1, state.shares.shape[1] + 1) == self._level_of(state), (state.outputs, 1)).astype(float)

    def standard_error(self, state: Any, X: ArrayLike) -> Vector:
        """The standard error of the curve at each row. It allows for noise that depends on x, and for bias as far as it shows: see
        `onkel.updates.undersmoothed`. Infinite until there are more rows than the first level has functions."""
        learner, own = self._alone(state)
        return learner._fits(own).errors(learner._functions_at(own, X))

    def band(self, state: Any, X: ArrayLike, confidence: float = 0.95, everywhere: bool = False) -> tuple[Vector, Vector]:
        """The lower and upper end of a confidence band of the curve at each row: for each place by itself, or, if `everywhere` is
        true, for all places where rows lie at once.

        Its centre is a fit with more functions than the prediction, because a band around the best prediction would miss the curve
        where the functions cannot represent it: see `onkel.updates.undersmoothed`.
        """
        learner, own = self._alone(state)
        return learner._fits(own).ends(learner._functions_at(own, X), confidence, everywhere)

    def curves(self, state: Any, points: int = 200, confidence: float = 0.95) -> tuple[float, list[Part]]:
        """For an `AdditiveSystem` and one output: the mean of the fit over all rows, and the curve of each input, with its bands,
        over the range of the sample's rows. The mean of each curve over all rows is 0. See `onkel.components`."""
        learner, own = self._alone(state)
        if not isinstance(learner.system, AdditiveSystem) or own.outputs > 1:
            raise InputError(
                f"{self!r:.200} has no curve for each input; take MercerProjection(AdditiveSystem(Cosine())), one output"
            )
        given, X = learner._fits(own), own.kept.first(own.rows).X
        grid = np.linspace(X.min(axis=0), X.max(axis=0), points) if len(X) else X
        return given.parts(grid, learner._functions_at(own, grid), confidence)

    def _functions_at(self, state: State, X: ArrayLike) -> Matrix:
        return self.system.functions(check_inputs(X, state.dim), len(state.matrix))

    def _fits(self, state: State) -> Fits:
        sums = _fit(state), state.taken, state.rows, _waves(self, state.dim), state.moments, _settings(self, state.dim)
        return fits(*sums, self.system.functions(state.kept.first(state.rows).X, len(state.matrix)))

    def _widen(self, state: State, outputs: int) -> None:
        more = outputs - state.outputs
        coef, squares = np.pad(state.coef, ((0, more), (0, 0))), np.pad(state.squares, ((0, more), (0, 0)))
        shares = np.vstack([state.shares, np.tile(_settings(self, state.dim).prior, (more, 1))])
        largest = np.append(state.largest, np.full(more, self.clip or 0.0))
        kept = state.kept.with_outputs(outputs, 0, 0.0)
        vars(state).update(coef=coef, squares=squares, shares=shares, largest=largest, kept=kept, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        r, waves = self._functions(dim), _waves(self, dim)
        sums = r * r + outputs * (r + 2 * self._levels(dim) + 1) + 2 * (waves.moments if waves else 0)
        return 8 * (sums + 1 + 6) + first_rows.footprint(self.sample, dim, outputs)

    def _check(self, state: State) -> None:
        if state.grown != (1 if self.rate is None else self._level(state, _settings(self, state.dim))):
            raise InputError("its number of levels does not fit its rows")
        if state.moved != (state.rows if _waves(self, state.dim) else 0):
            raise InputError("its moments are not those of all its rows")
        fresh = self._init(state.dim, state.outputs)
        least = 1 if self.rate is None else _settings(self, state.dim).widths[self._level(state, _settings(self, state.dim)) - 1]
        if state.rows < 0 or not max(fresh.taken, least) <= state.taken <= len(state.matrix):
            raise InputError("its number of functions does not fit its rows")
        t = state.taken
        check_factor(state.matrix[:t, :t], state.coef[:, :t], t, self._floor(state.dim))
        waiting = np.diag(state.matrix)[t:]
        if (
            np.any(np.tril(state.matrix, -1))
            or np.any(waiting < (1.0 - 1e-6) * self.lam * self.forgetting ** (self._functions(state.dim) - 1))
            or (state.moments.size and np.any(np.triu(state.matrix, 1)[:, t:]))
        ):
            raise InputError("the sums of products in its matrix cannot come from rows")
        if not SMALLEST_SCALE <= state.scale[0] <= 1.0 or (self.forgetting == 1.0 and state.scale[0] < 1.0):
            raise InputError("its scale does not fit its forgetting")
        sums = (state.matrix, state.coef, state.moments, state.squares, state.largest)
        if not all(np.all(np.abs(part) <= LARGEST_LOSS) for part in sums) or min(state.squares.min(), state.largest.min()) < 0.0:
            raise InputError("its losses are not sums of squares")
        if not state.kept.holds_exactly(min(state.rows, self.sample)):
            raise InputError("its sample does not fit its number of rows")
        check_labelled(state.kept.X, state.kept.y, state.dim, state.outputs)
        if np.any(state.shares < 0.0) or np.any(np.abs(np.sum(state.shares, axis=1) - 1.0) > 1e-9):
            raise InputError("the weights of its levels do not sum to 1")
        if self.clip is not None and np.any(state.largest != self.clip):
            raise InputError("its largest label is not its clip")

    def _notes(self, state: State) -> list[str]:
        d = self.system.dimension(state.dim)
        said = fading_notes(self.lam, self.forgetting, self._functions(state.dim), state.rows)
        if self.rate is not None and self._level_of(state) == self.count:
            said.append(f"all {self.count} levels are in use (learner.raised adds more)")
        if self.rate is not None and self.smoothness <= 0.5 * d:
            said.append(f"smoothness {self.smoothness:g} is at most half of the dimension {d}, where the theory does not apply")
        spread = np.sqrt(state.squares[:, 0] / max(state.rows, 1))
        if self.rate is None and self.clip is None and np.any(state.largest > FAR_OUT * spread) and state.rows > FAR_OUT:
            far = float(np.max(state.largest / np.maximum(spread, 1e-300)))
            said.append(
                f"the largest label is {far:.0f} deviations from 0: with a clip above the curve, the best levels get weight sooner"
            )
        return said


@functools.lru_cache(maxsize=256)
def _settings(learner: MercerProjection, dim: int) -> NestedSettings:
    levels = np.arange(1, learner._levels(dim) + 1)
    widths = np.array([learner.system.size(int(N), dim) for N in levels])
    needed = needed_rows(widths, learner.rate, learner.smoothness, learner.system.dimension(dim))
    clip = math.inf if learner.clip is None else learner.clip
    prior = 1.0 / levels
    level_of = np.repeat(levels - 1, np.diff(widths, prepend=0))
    return NestedSettings(widths, level_of, needed, prior / prior.sum(), learner.lam, learner.forgetting, clip)


@functools.lru_cache(maxsize=256)
def _waves(learner: MercerProjection, dim: int) -> Waves | None:
    """The functions as waves, if they are waves and levels grow, so that moments are enough for functions not yet in use; else
    None."""
    return None if learner.rate is None else learner.system.waves(learner._functions(dim))


def _fit(state: State) -> NestedFit:
    kept = state.kept.X, state.kept.y, state.kept.weight
    return NestedFit(state.matrix, state.coef, state.scale, state.shares, state.squares, state.largest, *kept)
