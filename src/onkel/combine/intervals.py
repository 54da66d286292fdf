"""Intervals: a learner with prediction intervals of several levels around its scores.

    score ± q,   q a quantile of recent residuals, kept at its level by feedback: see `combine/conformal.py`

The coverage is right on average over some hundred rows, also on streams that change, but not for each input x. No interval uses its
own row's label. The state counts the labels inside their intervals, and sums the widths of intervals.

>>> X, y = onkel.data.friedman(4000, seed=0)
>>> y[2000:] *= 10.0
>>> learner = onkel.combine.Intervals(onkel.combine.Scaled(onkel.PKAWV(forgetting=0.99)))
>>> state = learner.init(dim=10)
>>> for rows in range(0, 4000, 2000):
...     scores = learner.learn(state, X[rows : rows + 2000], y[rows : rows + 2000])
...     low, high = learner.predict_interval(state, X[:1], level=0.9)[0]
...     print(f"{high - low:.0f}", {level: round(share, 2) for level, share in learner.coverage(state).items()})
11 {0.5: 0.51, 0.8: 0.81, 0.9: 0.9, 0.95: 0.95}
160 {0.5: 0.5, 0.8: 0.8, 0.9: 0.9, 0.95: 0.95}
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import place
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine import conformal
from onkel.combine.wrapper import Wrapper
from onkel.errors import InputError
from onkel.learners import PKAWV
from onkel.one_row import RowSteps
from onkel.protocol import is_learner, tasks_of
from onkel.state import memory
from onkel.turns import Call, turn

LEAST_LEVEL, MOST_LEVEL = 0.01, 0.999  # the range of allowed levels


@memory
class State:
    inner: Any
    bands: conformal.Bands
    dim: int
    outputs: int


@config
class Intervals(Wrapper):
    """A learner for regression, with prediction intervals around its scores.

    learner  The learner inside, for numbers.
    levels   Nominal coverages, increasing. Default: (0.5, 0.8, 0.9, 0.95).
    """

    learner: Any = PKAWV()
    levels: tuple[float, ...] = (0.5, 0.8, 0.9, 0.95)

    def __post_init__(self) -> None:
        if not is_learner(self.learner) or "regression" not in tasks_of(self.learner):
            raise InputError(f"Intervals: learner must be one for regression, such as PKAWV(), got {self.learner!r:.200}")
        object.__setattr__(self, "levels", _checked(self.levels))

    def _init(self, dim: int, outputs: int) -> State:
        return State(self._begun(dim, outputs), conformal.init(self.levels, outputs), dim, outputs)

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix, **more: Any
    ) -> None:  # fmt: skip
        call.defer(partial(self._follow, state, state.bands.rows, self._inside._learnt(state.inner), Y, weight, scores))
        self._inside._take(call, state.inner, X, Y, weight, scores, **more)
        call.complete()

    def _follow(self, state: State, known: int, before: int, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        done, learnt = state.bands.rows - known, self._inside._learnt(state.inner) - before
        if done < learnt:
            conformal.follow(state.bands, Y, scores, weight, place(weight, done), place(weight, learnt))

    def _single(self, state: State) -> RowSteps | None:
        inner: RowSteps | None = self._inside._single(state.inner)
        return inner and inner.around(inner.row, [], [], [], after=[conformal.row_step(state.bands, inner.row)])

    def _score(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        self._inside._score(state.inner, X, scores, **more)

    def _score_any(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        self._inside._score_any(state.inner, X, scores, **more)

    def predict_interval(self, state: State, X: Any, level: float = 0.9, **more: Any) -> Matrix:
        """The lower and upper end of the interval of each row as if it came next: (n, 2), or (n, outputs, 2) for several outputs.

        The ends are infinite until level/(1 − level) rows are learnt; that is 19 rows for the level 0.95.
        """
        with turn(self, state):
            return self.around(state, self.predict(state, X, **more), level)

    def around(self, state: State, scores: Vector, level: float = 0.9) -> Matrix:
        """The interval around each of these scores, as in `predict_interval`."""
        if level not in self.levels:
            raise InputError(f"level must be one of {', '.join(map(str, self.levels))}; got {level!r:.60}")
        with turn(self, state):
            half = conformal.half_widths(state.bands)[:, self.levels.index(level)]
        half = half if state.outputs > 1 else half[0]
        return np.stack([scores - half, scores + half], axis=-1)

    def coverage(self, state: State) -> dict[float, float]:
        """For each level, the share of labels so far that were inside their intervals; the mean over outputs."""
        return dict(zip(self.levels, conformal.coverage(state.bands).mean(axis=0).tolist(), strict=True))

    def mean_width(self, state: State) -> dict[float, float]:
        """For each level, the mean width of all finite intervals so far; the mean over outputs."""
        return dict(zip(self.levels, conformal.mean_width(state.bands).mean(axis=0).tolist(), strict=True))

    def _widen(self, state: State, outputs: int) -> None:
        self._inside._widen(state.inner, outputs)
        conformal.widen(state.bands, outputs)
        state.outputs = outputs

    def keeps_rows(self, state: State) -> bool:
        """Whether columns may still be added. The learner must be a `Scaled`."""
        return bool(self.learner.keeps_rows(state.inner))

    def rearrange(self, state: State, dim: int, places: ArrayLike, until_now: ArrayLike | None = None) -> None:
        """Add columns, as in `Scaled.rearrange`. The bands do not change."""
        with turn(self, state, True):
            inner = self.learner.rearranged(state.inner, dim, places, until_now)
            vars(state).update(inner=inner, dim=inner.dim)

    def _footprint(self, dim: int, outputs: int) -> int:
        return int(self._inside._footprint(dim, outputs) + conformal.footprint(len(self.levels), outputs) + 8 * 2)

    def _check(self, state: State) -> None:
        if (state.inner.dim, state.inner.outputs) != (state.dim, state.outputs):
            raise InputError("the columns or outputs of its parts differ in number")
        if state.bands.rows > self._inside._learnt(state.inner):
            raise InputError("it has more residuals than rows")
        conformal.check(state.bands, self.levels)
        self._inside._check(state.inner)


def _checked(levels: Any) -> tuple[float, ...]:
    """The levels as a tuple of floats."""
    try:
        numbers = tuple(float(level) for level in levels)
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not all(LEAST_LEVEL <= level <= MOST_LEVEL for level in numbers) or sorted(set(numbers)) != list(numbers):
        raise InputError(f"Intervals: levels must rise from at least {LEAST_LEVEL} to at most {MOST_LEVEL}, got {levels!r:.60}")
    return numbers
