"""The protocol of feature maps, x -> z of finite width, and maps that are made of other maps.

A feature map has a small state of its own. `write` transforms each row and then learns from it, in order, and returns the state
after the rows. A row of weight 0 is transformed as if it came next, and is not learnt; so with weights 0 nothing is learnt at all.
The given state is never changed: a learner keeps the returned state only if everything else succeeded.

Identity, Constant   the two simplest maps: the inputs themselves, and the intercept
Sum                  puts the features of its parts side by side
Chain                gives the features of each stage to the next one as inputs
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np

from onkel._jit import hot_lean
from onkel._types import Matrix, Vector
from onkel._validate import config, instance
from onkel.errors import InputError
from onkel.one_row import Step


class Features(ABC):
    """A feature map: the size of z, a state of its own, and how rows are written as features. Derive from it for your own map.

    >>> class Squares(onkel.features.Features):
    ...     def size(self, dim): return dim
    ...     def init(self, dim): return None
    ...     def footprint(self, dim): return 0
    ...     def write(self, state, X, weight, Z, at): Z[:, at : at + X.shape[1]] = X**2
    >>> learner = onkel.PKAWV(features=Squares() + onkel.Constant(), lam=1e-3, awv=False)
    >>> X, y = onkel.data.smooth(500, dim=2, seed=0)
    >>> scores = learner.learn(learner.init(dim=2), X, (X**2).sum(axis=1))
    >>> float(np.abs(scores - (X**2).sum(axis=1))[100:].max().round(2))
    0.0
    """

    fixed: bool = False  # True if the map learns nothing and its features are written by calls of compiled code
    fallible: bool = False  # True if a user's function is called, which may raise in the middle of a block

    @abstractmethod
    def size(self, dim: int) -> int:
        """The number of features of a row of `dim` values."""

    @abstractmethod
    def init(self, dim: int) -> Any:
        """A fresh state for rows of `dim` values."""

    @abstractmethod
    def footprint(self, dim: int) -> int:
        """The bytes that `init(dim)` will hold."""

    @abstractmethod
    def write(self, state: Any, X: Matrix, weight: Vector, Z: Matrix, at: int) -> Any:
        """Write the features of each row into Z[:, at : at + size], and return the state after learning the rows."""

    def steps(self, state: Any, X: Matrix, Z: Matrix, at: int) -> list[Step]:
        """The calls of compiled code that write the features of these rows; only of a map that is `fixed`."""
        raise NotImplementedError

    def transformed(self, state: Any, X: Matrix, weight: Vector) -> tuple[Matrix, Any]:
        """The features of each row, and the state after learning the rows."""
        Z = np.empty((len(X), self.size(X.shape[1])))
        return Z, self.write(state, X, weight, Z, 0)

    def notes(self, state: Any) -> list[str]:
        """What the user should know about this state, one sentence each."""
        return []

    def __add__(self, other: Features | tuple[Features, ...]) -> Features:
        return Sum(self, other)

    def __radd__(self, other: tuple[Features, ...]) -> Features:
        return Sum(other, self)


class Fixed(Features):
    """A map that learns nothing: one call of compiled code writes the features."""

    fixed = True

    @abstractmethod
    def step(self, state: Any, X: Matrix, Z: Matrix, at: int) -> Step:
        """The call that writes the features of each row into Z[:, at : at + size]."""

    def steps(self, state: Any, X: Matrix, Z: Matrix, at: int) -> list[Step]:
        return [self.step(state, X, Z, at)]

    def write(self, state: Any, X: Matrix, weight: Vector, Z: Matrix, at: int) -> Any:
        self.step(state, X, Z, at)()
        return state


@config
class Identity(Fixed):
    """z = x: with it a learner is linear."""

    def size(self, dim: int) -> int:
        return dim

    def init(self, dim: int) -> None: ...

    def footprint(self, dim: int) -> int:
        return 0

    def step(self, state: None, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(copy_columns, X, Z, at)


@config
class Constant(Fixed):
    """z = 1: the intercept."""

    def size(self, dim: int) -> int:
        return 1

    def init(self, dim: int) -> None: ...

    def footprint(self, dim: int) -> int:
        return 0

    def step(self, state: None, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(_write_ones, Z, at)


@hot_lean
def copy_columns(X: Matrix, Z: Matrix, at: int) -> None:
    """Z[:, at : at + columns of X] ← X."""
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            Z[t, at + j] = X[t, j]


@hot_lean
def _write_ones(Z: Matrix, at: int) -> None:
    for t in range(Z.shape[0]):
        Z[t, at] = 1.0


class Composed(Features):
    """A map made of other maps. The sizes of its parts are computed once for each width of rows and cached. To compute them in each
    call for a single row would take most of the time of the call."""

    @abstractmethod
    def _measured(self, dim: int) -> Iterator[int]:
        """Sizes of the parts for rows of `dim` values; the last one is the size of this map."""

    def size(self, dim: int) -> int:
        return self._sizes(dim)[-1]

    def _sizes(self, dim: int) -> tuple[int, ...]:
        found = self._known.get(dim)
        if found is None:
            found = self._known[dim] = tuple(self._measured(dim))
        return found

    @cached_property
    def _known(self) -> dict[int, tuple[int, ...]]:
        return {}


@dataclass(frozen=True, init=False, repr=False)
class Sum(Composed):
    """z = (z¹, z², …): written f1 + f2. Its kernel is the sum of the parts' kernels.

    >>> onkel.Fourier(count=50) + onkel.Identity() + onkel.Constant()
    Fourier(count=50, width=None, seed=0, kernel=None, spread=1.0) + Identity() + Constant()
    >>> (onkel.Fourier(count=50) + onkel.Identity() + onkel.Constant()).size(8)
    109
    """

    parts: tuple[Features, ...]

    def __init__(self, *parts: Features | tuple[Features, ...]) -> None:
        flat: list[Features] = []
        for part in map(as_features, parts):
            if not isinstance(part, Features):
                raise InputError(f"only features can be put side by side, such as Fourier() + Constant(), got {part!r}")
            flat += part.parts if isinstance(part, Sum) else [part]
        if not flat:
            raise InputError("a sum of features needs at least one part, such as Fourier() + Constant()")
        object.__setattr__(self, "parts", tuple(flat))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    @property
    def fallible(self) -> bool:  # type: ignore[override]
        return any(part.fallible for part in self.parts)

    @property
    def fixed(self) -> bool:  # type: ignore[override]
        return all(part.fixed for part in self.parts)

    def _measured(self, dim: int) -> Iterator[int]:
        """The index of each part's first feature, followed by the number of all features."""
        return accumulate((part.size(dim) for part in self.parts), initial=0)

    def init(self, dim: int) -> tuple[Any, ...]:
        return tuple(part.init(dim) for part in self.parts)

    def footprint(self, dim: int) -> int:
        return sum(part.footprint(dim) for part in self.parts)

    def write(self, state: tuple[Any, ...], X: Matrix, weight: Vector, Z: Matrix, at: int) -> tuple[Any, ...]:
        sizes = self._sizes(X.shape[1])
        after = [part.write(before, X, weight, Z, at + start) for part, before, start in zip(self.parts, state, sizes)]  # noqa: B905
        return state if all(map(operator.is_, after, state)) else tuple(after)  # most maps learn nothing

    def steps(self, state: tuple[Any, ...], X: Matrix, Z: Matrix, at: int) -> list[Step]:
        sizes = self._sizes(X.shape[1])
        return [
            step for part, own, start in zip(self.parts, state, sizes, strict=False) for step in part.steps(own, X, Z, at + start)
        ]

    def notes(self, state: tuple[Any, ...]) -> list[str]:
        return [note for part, s in zip(self.parts, state, strict=True) for note in part.notes(s)]


@config
class Chain(Composed):
    """z = f_n(… f_2(f_1(x))): what a tuple of features means.

    stages  The maps, the first one first.

    >>> stages = (onkel.Standardize(), onkel.Taylor(degree=2))
    >>> learners = onkel.PKAWV(features=stages), onkel.PKAWV(features=onkel.Chain(stages))
    >>> X, y = onkel.data.friedman(100, seed=0)
    >>> first, second = (learner.learn(learner.init(dim=10), X, y) for learner in learners)
    >>> bool(np.all(first == second))
    True
    """

    stages: tuple[Features, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.stages, tuple) or not self.stages:
            raise InputError(f"a chain is a tuple of features, such as (Standardize(), Fourier()), got {self.stages!r}")
        for stage in self.stages:
            if not isinstance(stage, Features):
                raise InputError(f"every stage of a chain must be a feature map, such as Standardize(), got {stage!r}")

    @property
    def fallible(self) -> bool:  # type: ignore[override]
        return any(stage.fallible for stage in self.stages)

    def _measured(self, dim: int) -> Iterator[int]:
        """dim, then the number of features after each stage."""
        return accumulate(self.stages, lambda width, stage: stage.size(width), initial=dim)

    def init(self, dim: int) -> tuple[Any, ...]:
        return tuple(stage.init(width) for stage, width in zip(self.stages, self._sizes(dim), strict=False))

    def footprint(self, dim: int) -> int:
        return sum(stage.footprint(width) for stage, width in zip(self.stages, self._sizes(dim), strict=False))

    def write(self, state: tuple[Any, ...], X: Matrix, weight: Vector, Z: Matrix, at: int) -> tuple[Any, ...]:
        after = []
        for stage, before in zip(self.stages[:-1], state, strict=False):
            X, now = stage.transformed(before, X, weight)
            after.append(now)
        after.append(self.stages[-1].write(state[-1], X, weight, Z, at))
        return state if all(map(operator.is_, state, after)) else tuple(after)

    def notes(self, state: tuple[Any, ...]) -> list[str]:
        return [note for stage, s in zip(self.stages, state, strict=True) for note in stage.notes(s)]


def as_features(value: Features | tuple[Features, ...]) -> Features:
    """A tuple is a chain; anything else must be a feature map already."""
    return Chain(value) if isinstance(value, tuple) else value


def check_features(config: Any) -> None:
    """The `features` field of a learner must be a feature map or a tuple of them."""
    if isinstance(config.features, tuple):
        Chain(config.features)
    else:
        instance(config, "features", Features, "Fourier() or (Standardize(), Taylor(degree=2))")
