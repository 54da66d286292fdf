"""Lagged: a learner with earlier labels as additional inputs.

    x_t, u_{t−1}, u_{t−2}, …, u_{t−lags},  m₁, m₂          u_t = y_t − y_1,   mᵢ ← mᵢ + (u − mᵢ)/min(t, memory)

u_t is the label of row t minus the first label, and m₁ and m₂ are running means of u with memories of 10 and 100 rows. On streams
in time order the last labels often say more about the next label than all inputs do. On rows in random order they say nothing, and
can raise the error like any useless inputs. The new columns come after the row's own columns, first those for the first column of
y, then those for the second, up to `outputs`. They are 0 until there is a label. The first label is subtracted, because if labels
are far from 0, these zeros would be outliers that distort a running deviation for a long time.

`predict` scores each row as the next one, with the labels known now. If labels come late, store `remember(state)` with each row
that is predicted, and pass it to `learn(…, lagged=…)`, so that the row is learnt with the labels that were known when it was
predicted.

`Scaled(Lagged(learner))` gives the learner earlier labels in units of the first rows' deviation; `Lagged(Scaled(learner))`
standardises them like the other inputs. Both work. If labels come late, take the second: the first does not use `lagged` for the
rows that `Scaled` learns again while the scale is not yet fixed.

The setting `outputs` fixes the number of new columns, also if `widen` adds columns of y later: until then the labels in a column of
y that does not exist yet count as `absent`, the label of a class to which a row does not belong.

>>> rng = np.random.default_rng(0)
>>> y = np.zeros(1000)
>>> for t in range(2, 1000):
...     y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + rng.normal()
>>> X = rng.normal(size=(1000, 2))
>>> bare = onkel.PKAWV(onkel.Identity() + onkel.Constant())
>>> for learner in bare, onkel.combine.Lagged(bare):
...     scores = learner.learn(learner.init(dim=2), X, y)
...     print(round(float(np.mean((scores - y)[500:] ** 2)), 1))
13.7
0.9
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import LARGEST_NUMBER, check_block, place
from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config, whole
from onkel.combine.wrapper import Wrapper
from onkel.errors import InputError
from onkel.learners import PKAWV
from onkel.protocol import is_learner
from onkel.state import memory
from onkel.turns import Call

MEMORIES = 10, 100  # memories of the two running means, in rows


@memory
class State:
    inner: Any
    first: Vector  # (Lagged.outputs,)  the first label
    last: Matrix  # (Lagged.outputs, lags)  the last labels minus the first one, the latest first
    means: Matrix  # (Lagged.outputs, 2)  running means of the labels minus the first one
    rows: int  # number of labels so far
    dim: int
    outputs: int


@config
class Lagged(Wrapper):
    """A learner on rows and earlier labels.

    learner  The learner inside.
    lags     How many of the last labels become inputs. Default: 3.
    outputs  How many columns of y, counted from the first, have labels that become inputs. Default: 1.
    """

    learner: Any = PKAWV()
    lags: int = 3
    outputs: int = 1

    def __post_init__(self) -> None:
        if not is_learner(self.learner):
            raise InputError(f"Lagged: learner must be a learner, such as PKAWV(), got {self.learner!r:.200}")
        whole(self, "lags", least=1, most=1000)
        whole(self, "outputs", least=1, most=1000)

    takes_sparse: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        """The number of inputs that are earlier labels or their means."""
        return self.outputs * (self.lags + len(MEMORIES))

    def _init(self, dim: int, outputs: int) -> State:
        inner = self._begun(dim + self.columns, outputs)
        nothing = np.zeros(self.outputs), np.zeros((self.outputs, self.lags)), np.zeros((self.outputs, len(MEMORIES)))
        return State(inner, *nothing, 0, dim, outputs)

    def learn(  # type: ignore[override]
        self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None,
        lagged: ArrayLike | None = None, there: ArrayLike | None = None,
    ) -> Vector:  # fmt: skip
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and changes nothing.

        `lagged` has one row for each row of X: what `remember` returned when the row was predicted. It is used instead of the
        labels just before the row. `there` is the mask of the values of X that are present (False = missing), if the learner takes
        one.
        """
        return super().learn(state, X, y, weight, lagged=lagged, there=there)

    def predict(self, state: State, X: ArrayLike, lagged: ArrayLike | None = None, there: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next; changes nothing."""
        return super().predict(state, X, lagged=lagged, there=there)

    def _take(
        self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix,
        lagged: ArrayLike | None = None, there: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        known, labels = np.empty((len(X), self.columns)), self._remembered(Y)
        after = self._lagged(state, labels, weight, known)
        wide = self._wide(X, known if lagged is None else check_lagged(lagged, len(X), self.columns))
        call.defer(partial(self._follow, state, labels, weight, after))
        self._inside._take(call, state.inner, wide, Y, weight, scores, **self._mask(there))
        call.complete()

    def _survey(self, state: State, X: Any, Y: Matrix, there: Any = None) -> None:
        return None  # the inputs include earlier labels, which are known only when the rows are learnt in order

    def _take_again(self, state: State, X: Any, Y: Matrix, weight: Vector, **more: Any) -> None:
        self._take(Call(), state, X, Y, weight, np.empty(Y.shape), **more)

    def _lagged(self, state: State, labels: Matrix, weight: Vector, known: Matrix) -> dict[str, Any]:
        """Write each row's earlier labels; returns the fields of the state after all rows."""
        first, last, means = state.first.copy(), state.last.copy(), state.means.copy()
        rows = lag(first, last, means, state.rows, labels, weight, known)
        return {"first": first, "last": last, "means": means, "rows": rows}

    def _follow(self, state: State, labels: Matrix, weight: Vector, after: dict[str, Any]) -> None:
        rows = self._inside._learnt(state.inner)
        if rows not in (state.rows, after["rows"]):
            some = place(weight, rows - state.rows)
            after = self._lagged(state, labels[:some], weight[:some], np.empty((some, self.columns)))
        if rows > state.rows:
            vars(state).update(after)

    def _score(
        self, state: State, X: Matrix, scores: Matrix, lagged: ArrayLike | None = None, there: ArrayLike | None = None
    ) -> None:  # fmt: skip
        wide = self._wide(X, self._remember(state) if lagged is None else check_lagged(lagged, len(X), self.columns))
        self._inside._score(state.inner, wide, scores, **self._mask(there))

    def _remember(self, state: State) -> Vector:
        """The earlier labels and means that a row predicted now uses."""
        inputs = np.empty(self.columns)
        lag_inputs(state.last, state.means, inputs)
        return inputs

    def _learnt(self, state: State) -> int:
        return state.rows

    def _widen(self, state: State, outputs: int) -> None:
        self._inside._widen(state.inner, outputs)
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        return int(self._inside._footprint(dim + self.columns, outputs) + 8 * (self.columns + self.outputs + 3))

    def _check(self, state: State) -> None:
        if (state.inner.dim, state.inner.outputs) != (state.dim + self.columns, state.outputs):
            raise InputError("the columns or outputs of its parts differ in number")
        if state.rows != self._inside._learnt(state.inner):
            raise InputError("its number of labels is not equal to its number of rows")
        if state.rows == 0 and any(np.any(array) for array in (state.first, state.last, state.means)):
            raise InputError("it has labels before the first row")
        self._inside._check(state.inner)

    def _wide(self, X: Matrix, known: Matrix | Vector) -> Matrix:
        wide = np.empty((len(X), X.shape[1] + self.columns))
        wide[:, : X.shape[1]], wide[:, X.shape[1] :] = X, known
        return wide

    def _remembered(self, labels: Matrix) -> Matrix:
        """The labels of the first `outputs` columns; for columns that do not exist yet, the label that `widen` will assume."""
        known = np.full((len(labels), self.outputs), self.absent)
        some = min(self.outputs, labels.shape[1])
        known[:, :some] = labels[:, :some]
        return known

    def _mask(self, there: ArrayLike | None) -> dict[str, Any]:
        """The mask with columns for the earlier labels, which are never missing."""
        if there is None:
            return {}
        mask = np.asarray(there)
        return {"there": np.pad(mask, ((0, 0), (0, self.columns)), constant_values=True)}


def check_lagged(lagged: ArrayLike, rows: int, columns: int) -> Matrix:
    """The earlier labels that a caller passes, checked: (rows, columns)."""
    given = check_block("lagged", lagged)
    if given.shape != (rows, columns):
        raise InputError(f"lagged must have shape ({rows}, {columns}), what remember returned for each row; got {given.shape}")
    return given


@hot
def lag(first: Vector, last: Matrix, means: Matrix, rows: int, y: Matrix, weight: Vector, inputs: Matrix) -> int:
    """Write each row's earlier labels into `inputs`, then append its own label; returns the number of labels in total."""
    for t in range(y.shape[0]):
        lag_inputs(last, means, inputs[t])
        if weight[t] > 0.0:
            push(first, last, means, rows, y[t])
            rows += 1
    return rows


@hot_inline
def lag_inputs(last: Matrix, means: Matrix, inputs: Vector) -> None:
    """Write the last labels of each output, the latest first, and their means."""
    at = 0
    for k in range(last.shape[0]):
        for i in range(last.shape[1]):
            inputs[at] = last[k, i]
            at += 1
        for i in range(means.shape[1]):
            inputs[at] = means[k, i]
            at += 1


@hot_inline
def push(first: Vector, last: Matrix, means: Matrix, rows: int, y: Vector) -> None:
    """Append one label for each output, after `rows` earlier ones."""
    for k in range(last.shape[0]):
        if rows == 0:
            first[k] = y[k]
        label = min(max(y[k] - first[k], -LARGEST_NUMBER), LARGEST_NUMBER)  # inputs have the same limit as labels
        for i in range(last.shape[1] - 1, 0, -1):
            last[k, i] = last[k, i - 1]
        last[k, 0] = label
        for i in range(means.shape[1]):
            means[k, i] += (label - means[k, i]) / min(MEMORIES[i], rows + 1)
