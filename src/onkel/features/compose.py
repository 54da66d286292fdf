"""Feature maps made of feature maps: a chain feeds each stage into the next, a sum puts its parts side by side."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import instance
from onkel.errors import InputError
from onkel.features.feature import Features


@dataclass(frozen=True, init=False, repr=False)
class Sum(Features):
    """z = (z¹, z², …): written f1 + f2. Its kernel is the sum of the parts' kernels."""

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

    def size(self, dim: int) -> int:
        return sum(part.size(dim) for part in self.parts)

    def init(self, dim: int) -> tuple[Any, ...]:
        return tuple(part.init(dim) for part in self.parts)

    def footprint(self, dim: int) -> int:
        return sum(part.footprint(dim) for part in self.parts)

    def write(self, state: tuple[Any, ...], X: Matrix, weight: Vector, Z: Matrix, at: int) -> tuple[Any, ...]:
        after, same, dim = [], True, X.shape[1]
        for part, before in zip(self.parts, state, strict=True):
            after.append(now := part.write(before, X, weight, Z, at))
            same = same and now is before  # most maps have no state that changes
            at += part.size(dim)
        return state if same else tuple(after)

    def notes(self, state: tuple[Any, ...]) -> list[str]:
        return [note for part, s in zip(self.parts, state, strict=True) for note in part.notes(s)]


@dataclass(frozen=True)
class Chain(Features):
    """z = f_n(… f_2(f_1(x))): what a tuple of features means."""

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

    def size(self, dim: int) -> int:
        return self._widths(dim)[-1]

    def init(self, dim: int) -> tuple[Any, ...]:
        return tuple(stage.init(width) for stage, width in zip(self.stages, self._widths(dim), strict=False))

    def footprint(self, dim: int) -> int:
        return sum(stage.footprint(width) for stage, width in zip(self.stages, self._widths(dim), strict=False))

    def write(self, state: tuple[Any, ...], X: Matrix, weight: Vector, Z: Matrix, at: int) -> tuple[Any, ...]:
        after = []
        for stage, before in zip(self.stages[:-1], state, strict=False):
            out = np.empty((X.shape[0], stage.size(X.shape[1])))
            after.append(stage.write(before, X, weight, out, 0))
            X = out
        after.append(self.stages[-1].write(state[-1], X, weight, Z, at))
        return state if all(map(operator.is_, state, after)) else tuple(after)

    def notes(self, state: tuple[Any, ...]) -> list[str]:
        return [note for stage, s in zip(self.stages, state, strict=True) for note in stage.notes(s)]

    def _widths(self, dim: int) -> list[int]:
        """dim, then the size after each stage."""
        widths = [dim]
        for stage in self.stages:
            widths.append(stage.size(widths[-1]))
        return widths


def as_features(value: Features | tuple[Features, ...]) -> Features:
    """A tuple is a chain; anything else must be a feature map already."""
    return Chain(value) if isinstance(value, tuple) else value


def check_features(config: Any) -> None:
    """The `features` field of a learner must be a feature map or a tuple of them."""
    if isinstance(config.features, tuple):
        Chain(config.features)
    else:
        instance(config, "features", Features, "Fourier() or (Standardize(), Taylor(degree=2))")
