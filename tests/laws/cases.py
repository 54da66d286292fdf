"""Every learner of the catalogue, with default arguments and in the small configurations that visit every stage.

A learner's oracle lives in tests/oracle under the name of its file and exports `SMALL` (configurations), `stream(config)`,
`reached(config, state)` and `scores(learner, X, y, weight)`. Adding a learner adds its laws: nothing here knows a name.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.protocol import tasks_of
from onkel.state import copied, leaves
from tests.laws.kept import is_kept, keep, kept

Array = NDArray[np.float64]

ROWS_UNCOMPILED = 160  # beyond the rows after which law 5 saves, and several blocks of 32
ROWS_TO_TRY = (ROWS_UNCOMPILED, 200, 240, 280, 320, 360)  # small configurations may need more rows to visit every stage

CLASSES = [kind for name in onkel.__all__ if hasattr(kind := getattr(onkel, name), "learn") and hasattr(kind, "cut_tolerance")]


@dataclass(frozen=True)
class Case:
    name: str
    learner: Any
    oracle: ModuleType
    small: bool

    def whole_stream(self) -> tuple[Array, Array, Array]:
        if self.small:
            X, y, weight = self.oracle.stream(self.learner)
            return X, y, weight
        return default_stream(self.learner)

    def stream(self) -> tuple[Array, Array, Array]:
        """The stream on which the laws are tested; with the compiler off, no more of its rows than needed."""
        return self.first(_rows_uncompiled(self)) if compiler_off else self.whole_stream()

    def first(self, rows: int | None) -> tuple[Array, Array, Array]:
        X, y, weight = self.whole_stream()
        return X[:rows].copy(), y[:rows].copy(), weight[:rows].copy()

    def keep_rows(self, rows: int) -> None:
        """Store that the first `rows` rows visit every stage, so that the tests with the compiler off learn no more."""
        keep(f"rows-{self.name}", np.array(rows, dtype=float))

    def learnable(self) -> tuple[Array, Array]:
        """A stream that the case should learn: that of its oracle for a small configuration, if there is one; else ours."""
        if self.small and hasattr(self.oracle, "learnable"):
            X, y = self.oracle.learnable(self.learner)
        else:
            X, y, _ = default_stream(self.learner, rows=1000)
        return X, y

    def run(self) -> tuple[Any, Array]:
        """The state and scores after the whole stream, learnt in one call. The run is cached, since most laws begin with it."""
        state, scores = _run_once(self)
        return copied(state), scores.copy()

    def predicted(self) -> Array:
        """The predictions for the first rows, after the whole stream."""
        return _predict_once(self).copy()

    def run_again(self) -> tuple[Any, Array]:
        X, y, weight = self.stream()
        state = fresh(self.learner, X, y)
        return state, self.learner.learn(state, X, y, weight)


@functools.cache
def _run_once(case: Case) -> tuple[Any, Array]:
    return case.run_again()


@functools.cache
def _predict_once(case: Case) -> Array:
    predicted: Array = case.learner.predict(case.run()[0], case.stream()[0][:50])
    return predicted


@functools.cache
def _rows_uncompiled(case: Case) -> int | None:
    """How many rows are used with the compiler off. For a small configuration: those that visit every stage, if this is stored."""
    if not (case.small and hasattr(case.oracle, "reached")):
        return ROWS_UNCOMPILED
    return int(kept(f"rows-{case.name}")) if is_kept(f"rows-{case.name}") else None


def default_stream(learner: Any, rows: int = 400, dim: int = 3) -> tuple[Array, Array, Array]:
    """Standardised inputs and a smooth target (its sign, for a pure classifier); some rows have weight 0."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, dim))
    y = np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=rows)
    if "regression" not in tasks_of(learner):
        y = np.where(y >= 0.0, 1.0, -1.0)
    return X, y, np.where(rng.random(rows) < 0.1, 0.0, 1.0)


def fresh(learner: Any, X: Array, y: Array) -> Any:
    return learner.init(X.shape[1], y.shape[1] if y.ndim == 2 else 1)


def is_finite_or_refused(case: Case, state: Any, verb: Any, *block: Array) -> bool:
    """Whether the verb's result is finite.

    A small configuration whose kernel would overflow may refuse huge inputs instead, if that leaves the state unchanged.
    """
    before = bits(state)
    try:
        return bool(np.isfinite(verb(state, *block)).all())
    except onkel.InputError as error:
        return case.small and "would overflow" in str(error) and bits(state) == before


def _cases() -> list[Case]:
    cases = []
    for kind in CLASSES:
        oracle = importlib.import_module(f"tests.oracle.{kind.__module__.rsplit('.', 1)[-1]}")
        cases.append(Case(f"{kind.__name__}-default", kind(), oracle, small=False))
        own = [config for config in oracle.SMALL if type(config) is kind]  # a file may contain two learners
        cases += [Case(f"{kind.__name__}-small{k}", config, oracle, small=True) for k, config in enumerate(own)]
    return cases


CASES = _cases()

# With the compiler off, NumPy code replaces BLAS and every index is checked. Laws that this can break are tested for every
# configuration in both modes. The others (4 to 7, 12 to 14) are tested for every configuration with the compiler on, and only
# for the default ones with the compiler off.
fewer = pytest.mark.parametrize(
    "case", [case for case in CASES if not (compiler_off and case.small)], ids=lambda case: case.name, scope="session"
)


def bits(state: Any) -> list[tuple[str, bytes]]:
    """Everything in a state, as bytes that can be compared."""
    return [(name, np.asarray(value).tobytes()) for name, value, _ in leaves(state)]


def agree(learner: Any, a: Array, b: Array) -> bool:
    """Whether two arrays agree as the learner promises for another cut of the stream: bit for bit, or within its tolerance."""
    if learner.cut_tolerance == 0.0:
        return bool(np.array_equal(a, b))
    return near(a, b, learner.cut_tolerance)


def near(a: Array, b: Array, tolerance: float) -> bool:
    return a.shape == b.shape and bool(
        np.max(np.abs(a - b), initial=0.0) <= tolerance * max(1.0, float(np.max(np.abs(b), initial=0.0)))
    )
