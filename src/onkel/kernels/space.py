"""Domains: what a kernel, and an eigen-system of one, knows of where its inputs live.

An input with a domain (low, high) is mapped linearly to [0, 1]. With `domain=None` a learner takes it from its first rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix, Vector
from onkel.errors import InputError

Domain = tuple[float, float]
LARGEST_INPUT = LARGEST_NUMBER**2  # a product of two columns
ANYWHERE: Domain = (-np.inf, np.inf)  # of an input that is taken as it is


class Space:
    """Functions of rows, whose inputs may live on intervals: by itself of no input, of one, or of those of its parts."""

    fallible: bool = False  # True where a user's function runs inside: it may fail in the middle of a block

    def check_columns(self, dim: int) -> None:  # most take any number of columns
        """Refuse rows of `dim` columns, where it cannot take them."""

    @property
    def parts_with_domains(self) -> tuple[Space, ...]:
        """Those that it is made of, where domains are theirs."""
        return ()

    @property
    def has_domains(self) -> bool:
        """Whether an input lives on an interval."""
        return any(part.has_domains for part in self.parts_with_domains)

    @property
    def is_open(self) -> bool:
        """Whether an input's domain is still to be taken from the data."""
        return any(part.is_open for part in self.parts_with_domains)

    def domain_count(self, dim: int) -> int:
        """The inputs that may have domains, on rows of `dim` columns."""
        return 0

    def domains(self, X: Matrix) -> Matrix:
        """(low, high) of each input in these rows, where inputs may have domains."""
        return np.empty((0, 2))

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        """The same with the first of these domains where they were open, and the domains left for others."""
        return self, domains

    def outside(self, X: Matrix) -> int:
        """How many values lie beyond their domain, and are taken as lying on its edge."""
        return 0


P = TypeVar("P", bound=Space)


def on_each(parts: tuple[P, ...], dim: int, domains: Matrix) -> tuple[tuple[P, ...], Matrix]:
    """`Space.on` of one part after the other, each on rows of `dim` columns."""
    closed = []
    for part in parts:
        one, domains = part.on(dim, domains)
        closed.append(one)
    return tuple(closed), domains


def on_first(space: Any, domains: Matrix) -> tuple[Any, Matrix]:
    """`Space.on` of a space of one input, with its field `domain`."""
    low, high = domains[0].tolist()
    return replace(space, domain=(low, high)) if space.domain is None else space, domains[1:]


def ranges(inputs: Matrix) -> Matrix:
    """The range of each input in these rows; around a single value, one half to each side."""
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    narrow = ~(high - low > 0.0)
    ends = [np.where(narrow, low - _margin(low), low), np.where(narrow, high + _margin(high), high)]
    return np.column_stack(ends).clip(-LARGEST_INPUT, LARGEST_INPUT)


def _margin(value: Vector) -> Vector:
    """Half of one; more where that would be lost beside the value."""
    return np.maximum(0.5, 1e-9 * np.abs(value))


def check_domain(space: Any) -> None:
    """The field `domain`: None, or two numbers."""
    domain = space.domain
    if domain is None:
        return
    try:
        low, high = (float(end) for end in domain)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (low < high and max(abs(low), abs(high)) <= LARGEST_INPUT):
        raise InputError(f"{type(space).__name__}: domain must be (low, high) with low < high, or None, got {domain!r}")
    object.__setattr__(space, "domain", (low, high))
