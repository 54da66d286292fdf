"""Families of experts: each sees the same views of the rows and gives the scores of several experts.

    Slow     ridge regression on many features, solved anew now and then; every prefix of the features is an expert
    Fast     ridge regression with forgetting on fewer features, exact in every row; every prefix is an expert
    Odds     logistic regression, for labels that have two values
    Lines    linear and logistic regressions that go column by column, for rows of many columns
    Near     the nearest of the last rows
    Trees    online random trees

A family has the three verbs of a learner, on views of rows and for several experts at once: `learn` returns (n, outputs, experts).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto import lines, odds
from onkel.combine.auto.values import MORE
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.features import Features
from onkel.learners import neighbours as nearest
from onkel.learners import random_trees as forest
from onkel.learners.neighbours import Neighbours
from onkel.learners.random_trees import RandomTrees
from onkel.linalg import corrected, gram
from onkel.linalg.blas import gemm_nt
from onkel.turns import Steps

INTERCEPT_RIDGE = 1e-4  # the first feature is the intercept: where labels lie is no reason for a penalty
RENEWALS = 8  # R is made anew after an eighth of the rows so far,
SHORTEST, LONGEST = 8, 1024  # but not after fewer rows than this, nor after more
FEATURES_A_ROW = 2  # so many rows are needed: until then an expert of more features is the largest that has enough


@dataclass(frozen=True)
class Expert:
    """What a person should know of an expert."""

    family: str  # such as "linear" or "linear, of ranks"
    forgetting: float | None = 1.0  # None where it is not known
    lam: float = 0.0
    lagged: bool = False  # it sees earlier labels

    @property
    def kind(self) -> str:
        """Its family, whatever it sees: what comes before a comma."""
        return self.family.split(",")[0]


@dataclass(frozen=True)
class Part:
    """Features of one of the views, at the end of which an expert ends."""

    view: str  # the name of a view; two, joined by +, side by side
    features: Features
    width: int  # columns of the view
    name: str  # of the expert that has these features and those before them

    @cached_property
    def size(self) -> int:
        return self.features.size(self.width)


def _seen(view: View, name: str) -> Matrix:
    parts = [getattr(view, one) for one in name.split("+")]
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def _ends(parts: tuple[Part, ...]) -> Counts:
    return np.cumsum([part.size for part in parts])


def _maps(parts: tuple[Part, ...]) -> tuple[Any, ...]:
    return tuple(part.features.init(part.width) for part in parts)


def _footprint(parts: tuple[Part, ...]) -> int:
    """The bytes of `_maps`."""
    return sum(part.features.footprint(part.width) for part in parts)


def _features(parts: tuple[Part, ...], maps: tuple[Any, ...], view: View) -> Matrix:
    V = np.empty((len(view.X), sum(part.size for part in parts)))
    nothing, at = np.zeros(len(V)), 0
    for part, state in zip(parts, maps, strict=True):
        part.features.write(state, _seen(view, part.view), nothing, V, at)
        at += part.size
    return V


def _due(rows: int) -> int:
    """When R of `Slow` is made anew, after it was with so many rows."""
    return rows + min(max(SHORTEST, rows // RENEWALS), LONGEST)


def _at_once(family: Any, state: Any, view: View, nothing: Matrix) -> Cube:
    """The scores of a family that can only learn, of rows of weight 0."""
    steps = Steps()
    scores: Cube = family.learn(state, view, nothing, nothing[:, 0], steps)
    steps.run()
    return scores


def _ridge(r: int, lam: float) -> Vector:
    ridge = np.full(r, lam)
    ridge[0] = INTERCEPT_RIDGE
    return ridge


@dataclass
class SlowState:
    maps: tuple[Any, ...]
    products: Matrix  # (r, r)
    targets: Matrix  # (outputs, r)
    theta: Cube  # (outputs, experts, r)
    rows: int = 0
    due: int = SHORTEST  # when R is made anew


@dataclass(frozen=True)
class Slow:
    parts: tuple[Part, ...]
    lams: tuple[float, float]  # the ridge of every expert; and that of a second one for each of the longer half

    @property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(
            Expert(part.name, 1.0, lam, "L" in part.view)
            for lam, first in zip(self.lams, self._firsts, strict=True)
            for part in self.parts[first:]
        )

    @property
    def _firsts(self) -> tuple[int, int]:
        """The first part that ends an expert, for each ridge."""
        return 0, len(self.parts) // 2

    def init(self, outputs: int) -> SlowState:
        r = int(_ends(self.parts)[-1])
        maps = _maps(self.parts)
        return SlowState(maps, np.zeros((r, r)), np.zeros((outputs, r)), np.zeros((outputs, len(self.experts), r)))

    def footprint(self, outputs: int) -> int:
        r = int(_ends(self.parts)[-1])
        maps = _footprint(self.parts)
        return maps + 8 * (r * r + outputs * r * (1 + len(self.experts)) + 2)

    def learn(self, state: SlowState, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        V, done, due = _features(self.parts, state.maps, view), 0, state.due
        scores = np.empty((*Y.shape, len(self.experts)))
        learnt = state.rows + np.cumsum(weight > 0.0)
        while done < len(V):
            stop = min(int(np.searchsorted(learnt, due)) + 1, len(V))
            now = slice(done, stop)
            steps.add(self._score, state, V[now], scores[now])
            root = np.sqrt(weight[now])[:, None]
            steps.add(gram.add, state.products, state.targets, V[now] * root, Y[now] * root)
            rows, done = int(learnt[stop - 1]), stop
            steps.add(setattr, state, "rows", rows)
            if rows >= due:
                steps.add(self._renew, state)
                due = _due(rows)
        return scores

    def predict(self, state: SlowState, view: View) -> Cube:
        scores = np.empty((len(view.X), len(state.targets), len(self.experts)))
        self._score(state, _features(self.parts, state.maps, view), scores)
        return scores

    def _score(self, state: SlowState, V: Matrix, scores: Cube) -> None:
        outputs, experts, r = state.theta.shape
        flat = np.empty((len(V), outputs * experts))
        gemm_nt(V, state.theta.reshape(-1, r), flat)
        scores[:] = flat.reshape(scores.shape)

    def _renew(self, state: SlowState) -> None:
        ends = _ends(self.parts)
        active = max(1, int(np.searchsorted(ends, FEATURES_A_ROW * state.rows, side="right")))
        r = int(ends[active - 1])
        targets, R, at, all_theta = state.targets[:, :r].copy(), np.zeros((r, r)), 0, state.theta.copy()
        for lam, first in zip(self.lams, self._firsts, strict=True):
            wanted = np.minimum(ends[first:], r)
            theta = np.empty((len(targets), len(wanted), r))
            gram.factorise(state.products, _ridge(r, lam), R)
            gram.solve(R, targets, wanted, theta)
            all_theta[:, at : at + len(wanted), :r] = theta
            at += len(wanted)
        vars(state).update(theta=all_theta, due=_due(state.rows))  # as one step

    def widen(self, state: SlowState, outputs: int) -> None:
        more = outputs - len(state.targets)
        state.targets = np.pad(state.targets, ((0, more), (0, 0)))
        state.theta = np.pad(state.theta, ((0, more), (0, 0), (0, 0)))

    def check(self, state: SlowState) -> None:
        if np.any(np.diag(state.products) < 0.0) or np.any(np.tril(state.products, -1)) or not 0 <= state.rows < state.due:
            raise InputError("its sums of products are not made of rows")


@dataclass
class FastState:
    maps: tuple[Any, ...]
    products: Matrix
    targets: Matrix
    matrix: Matrix
    coef: Matrix
    rows: Matrix
    solved: Matrix
    labels: Matrix
    triangles: Cube
    residuals: Cube
    waiting: Counts


@dataclass(frozen=True)
class Fast:
    parts: tuple[Part, ...]
    forgetting: float
    lam: float
    block: int  # rows after which R is made anew

    @property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(Expert(part.name, self.forgetting, self.lam, "L" in part.view) for part in self.parts)

    def _rule(self) -> corrected.CorrectedSettings:
        ends = _ends(self.parts)
        return corrected.CorrectedSettings(
            np.append(ends, np.full(corrected.EXPERTS - len(ends), ends[-1])), _ridge(int(ends[-1]), self.lam), self.forgetting
        )

    def init(self, outputs: int) -> FastState:
        r, block = int(_ends(self.parts)[-1]), self.block
        maps = _maps(self.parts)
        matrix = np.diag(np.sqrt(_ridge(r, self.lam)))
        wait, lanes = np.zeros((block, r)), corrected.EXPERTS
        return FastState(
            maps, np.zeros((r, r)), np.zeros((outputs, r)), matrix, np.zeros((outputs, r)), wait, wait.copy(),
            np.zeros((block, outputs)), np.zeros((block, block, lanes)), np.zeros((block, outputs, lanes)), np.zeros(1, np.int64),
        )  # fmt: skip

    def footprint(self, outputs: int) -> int:
        r, block, lanes = int(_ends(self.parts)[-1]), self.block, corrected.EXPERTS
        maps = _footprint(self.parts)
        sums = 2 * r * r + 2 * outputs * r + 2 * block * r + block * outputs
        return maps + 8 * (sums + lanes * block * (block + outputs) + 1)

    def learn(self, state: FastState, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((*Y.shape, corrected.EXPERTS))
        steps.add(corrected.learn, _sums(state), self._rule(), _features(self.parts, state.maps, view), Y, weight, scores)
        return scores[:, :, : len(self.parts)]

    def predict(self, state: FastState, view: View) -> Cube:
        scores = np.empty((len(view.X), len(state.targets), corrected.EXPERTS))
        corrected.predict(_sums(state), self._rule(), _features(self.parts, state.maps, view), scores)
        return scores[:, :, : len(self.parts)]

    def widen(self, state: FastState, outputs: int) -> None:
        more = outputs - len(state.targets)
        state.targets, state.coef = np.pad(state.targets, ((0, more), (0, 0))), np.pad(state.coef, ((0, more), (0, 0)))
        state.labels = np.pad(state.labels, ((0, 0), (0, more)))
        state.residuals = np.pad(state.residuals, ((0, 0), (0, more), (0, 0)))

    def check(self, state: FastState) -> None:
        if np.any(np.diag(state.products) < 0.0) or np.any(np.diag(state.matrix) <= 0.0):
            raise InputError("its sums of products are not made of rows")
        if not 0 <= state.waiting[0] < self.block:
            raise InputError("other rows wait than can")


def _sums(state: FastState) -> corrected.Sums:
    return corrected.Sums(*(getattr(state, field.name) for field in fields(state)[1:]))


@dataclass
class OddsState:
    maps: tuple[Any, ...]
    inverse: Cube
    theta: Matrix
    first: Vector
    second: Vector
    values: Counts
    rows: Counts


@dataclass(frozen=True)
class Odds:
    parts: tuple[Part, ...]
    lam: float

    @property
    def experts(self) -> tuple[Expert, ...]:
        return (Expert(self.parts[-1].name, 1.0, self.lam),)

    def init(self, outputs: int) -> OddsState:
        r = int(_ends(self.parts)[-1])
        maps = _maps(self.parts)
        inverse = np.tile(np.eye(r) / self.lam, (outputs, 1, 1))
        nothing = np.zeros((outputs, r)), np.zeros(outputs), np.zeros(outputs)
        return OddsState(maps, inverse, *nothing, np.zeros(outputs, np.int64), np.zeros(1, np.int64))

    def footprint(self, outputs: int) -> int:
        r = int(_ends(self.parts)[-1])
        return _footprint(self.parts) + 8 * (outputs * (r * r + r + 3) + 1)

    def learn(self, state: OddsState, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty(Y.shape)
        steps.add(odds.learn, _filter(state), _features(self.parts, state.maps, view), Y, weight, scores)
        return scores[:, :, None]

    def predict(self, state: OddsState, view: View) -> Cube:
        nothing = np.zeros((len(view.X), len(state.theta)))
        return _at_once(self, state, view, nothing)

    def widen(self, state: OddsState, outputs: int) -> None:
        more = self.init(outputs - len(state.theta))
        if state.rows[0] > 0:
            more.values[:] = 1
        state.inverse, state.theta = np.concatenate([state.inverse, more.inverse]), np.concatenate([state.theta, more.theta])
        state.first, state.second = np.append(state.first, more.first), np.append(state.second, more.second)
        state.values = np.append(state.values, more.values)

    def check(self, state: OddsState) -> None:
        if state.rows[0] < 0 or np.any(state.values < 0) or np.any(state.values > MORE):
            raise InputError("its labels have an impossible number of values")
        if np.any(np.diagonal(state.inverse, axis1=1, axis2=2) < 0.0):
            raise InputError("its matrix is not positive")


def _filter(state: OddsState) -> odds.Filter:
    return odds.Filter(state.inverse, state.theta, state.first, state.second, state.values, state.rows)


@dataclass
class LinesState:
    theta: Cube
    spread: Cube
    first: Vector
    second: Vector
    values: Counts
    mean: Vector
    squares: Vector
    rows: Counts


@dataclass(frozen=True)
class Lines:
    dim: int

    @property
    def experts(self) -> tuple[Expert, ...]:
        filters = tuple(Expert("linear, by column", forgetting, lam) for lam, forgetting in lines.FILTERS)
        return filters + tuple(Expert(f"linear, by column in steps of {step:g}") for step in lines.STEPS)

    def init(self, outputs: int) -> LinesState:
        return LinesState(*lines.start(self.dim + 1, outputs))

    def footprint(self, outputs: int) -> int:
        return 8 * (outputs * (2 * lines.EXPERTS * (self.dim + 1) + 5) + 1)

    def learn(self, state: LinesState, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((*Y.shape, lines.EXPERTS))
        steps.add(lines.learn, _tables(state), view.S, Y, weight, scores)
        return scores

    def predict(self, state: LinesState, view: View) -> Cube:
        nothing = np.zeros((len(view.X), len(state.first)))
        return _at_once(self, state, view, nothing)

    def widen(self, state: LinesState, outputs: int) -> None:
        more = self.init(outputs - len(state.first))
        if state.rows[0] > 0:
            more.values[:] = 1
        for field in fields(state)[:-1]:
            setattr(state, field.name, np.concatenate([getattr(state, field.name), getattr(more, field.name)]))

    def check(self, state: LinesState) -> None:
        if state.rows[0] < 0 or np.any(state.values < 0) or np.any(state.values > MORE) or np.any(state.squares < 0.0):
            raise InputError("its labels have an impossible number of values")
        if np.any(state.spread <= 0.0):
            raise InputError("the variances of its coefficients are not positive")


def _tables(state: LinesState) -> lines.Tables:
    return lines.Tables(*(getattr(state, field.name) for field in fields(state)))


@dataclass(frozen=True)
class Near:
    learner: Neighbours
    dim: int  # columns of N
    lags: int  # columns of L

    @property
    def experts(self) -> tuple[Expert, ...]:
        alone = (Expert("neighbours"),)
        return (*alone, Expert("neighbours", lagged=True)) if self.lags else alone

    def init(self, outputs: int) -> Any:
        return self.learner.init(self.dim + self.lags, outputs)

    def footprint(self, outputs: int) -> int:
        return self.learner.footprint(self.dim + self.lags, outputs)

    def learn(self, state: Any, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores, X = np.empty((len(self.experts), *Y.shape)), _seen(view, "N+L")
        memory = state.points, state.labels, state.weights, state.rows
        steps.add(nearest.learn_block, *memory, X, Y, weight, self.learner.neighbours, self.lags, scores)
        return scores.transpose(1, 2, 0)

    def predict(self, state: Any, view: View) -> Cube:
        scores, X = np.empty((len(self.experts), len(view.X), state.outputs)), _seen(view, "N+L")
        memory = state.points, state.labels, state.weights, state.rows
        nearest.predict_block(*memory, X, self.learner.neighbours, self.lags, scores)
        return scores.transpose(1, 2, 0)

    def widen(self, state: Any, outputs: int) -> None:
        self.learner._widen(state, outputs)

    def check(self, state: Any) -> None:
        self.learner._check(state)


@dataclass(frozen=True)
class Trees:
    learner: RandomTrees
    dim: int
    view: str  # "X", or "X+L"

    @property
    def experts(self) -> tuple[Expert, ...]:
        return (Expert("trees", lagged="L" in self.view),)

    def init(self, outputs: int) -> Any:
        return self.learner.init(self.dim, outputs)

    def footprint(self, outputs: int) -> int:
        return self.learner.footprint(self.dim, outputs)

    def learn(self, state: Any, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        learner, scores = self.learner, np.empty((*Y.shape, 1))
        settings = learner.gain, learner.forgetting, learner.seed
        labels = np.clip(Y, -LARGEST_NUMBER, LARGEST_NUMBER)  # minus the first they may be larger
        steps.add(forest.learn_block, state.forest, _seen(view, self.view), labels, weight, *settings, scores[:, :, 0])
        return scores

    def predict(self, state: Any, view: View) -> Cube:
        scores = np.empty((len(view.X), state.outputs, 1))
        forest.predict_block(state.forest, _seen(view, self.view), scores[:, :, 0])
        return scores

    def widen(self, state: Any, outputs: int) -> None:
        self.learner._widen(state, outputs)

    def check(self, state: Any) -> None:
        self.learner._check(state)


Family = Slow | Fast | Odds | Lines | Near | Trees
