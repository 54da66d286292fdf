"""Domains of the inputs of kernels and eigen-systems.

An input with a domain (low, high) is mapped linearly to [0, 1]. With `domain=None` a learner sets it from its first rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix, Vector
from onkel.errors import InputError

Domain = tuple[float, float]
LARGEST_INPUT = LARGEST_NUMBER**2  # inputs may be products of two columns
ANYWHERE: Domain = (-np.inf, np.inf)  # the domain of an input that is not mapped


class Space:
    """A space of functions of rows whose inputs may have domains. This base class has no domain; a subclass has a domain of its
    own, or the domains of its parts."""

    fallible: bool = False  # True if a user's function is called, which may raise in the middle of a block

    def check_columns(self, dim: int) -> None:
        """Refuse rows of `dim` columns if they do not fit. Most spaces take any number of columns."""

    @property
    def parts_with_domains(self) -> tuple[Space, ...]:
        """The parts that may have domains."""
        return ()

    @property
    def has_domains(self) -> bool:
        """Whether an input has a domain."""
        return any(part.has_domains for part in self.parts_with_domains)

    @property
    def is_open(self) -> bool:
        """Whether an input's domain is still to be set from the data."""
        return any(part.is_open for part in self.parts_with_domains)

    def domain_count(self, dim: int) -> int:
        """The number of inputs that may have domains, on rows of `dim` columns."""
        return 0

    def domains(self, X: Matrix) -> Matrix:
        """(low, high) of each input that may have a domain, in these rows."""
        return np.empty((0, 2))

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        """This space with known domains, and the rows of `domains` that are left for the spaces after it.

        `domains` begins with one row for each input that may have a domain. A domain that is None is replaced by its row; the rows
        of the others are not used.
        """
        return self, domains

    def outside(self, X: Matrix) -> int:
        """The number of values outside their domain, which are clipped to it."""
        return 0


P = TypeVar("P", bound=Space)


def on_each(parts: tuple[P, ...], dim: int, domains: Matrix) -> tuple[tuple[P, ...], Matrix]:
    """`Space.on` for one part after the other, all for rows of `dim` columns."""
    closed = []
    for part in parts:
        one, domains = part.on(dim, domains)
        closed.append(one)
    return tuple(closed), domains


def on_first(space: Any, domains: Matrix) -> tuple[Any, Matrix]:
    """`Space.on` for a one-input space with a field `domain`."""
    low, high = domains[0].tolist()
    return replace(space, domain=(low, high)) if space.domain is None else space, domains[1:]


def ranges(inputs: Matrix) -> Matrix:
    """The range (low, high) of each input in these rows; for a constant input, its value minus and plus one half."""
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    narrow = ~(high - low > 0.0)
    ends = [np.where(narrow, low - _margin(low), low), np.where(narrow, high + _margin(high), high)]
    return np.column_stack(ends).clip(-LARGEST_INPUT, LARGEST_INPUT)


def _margin(value: Vector) -> Vector:
    """How far the domain of a constant input extends to each side: one half, or more if one half would be lost in rounding."""
    return np.maximum(0.5, 1e-9 * np.abs(value))


def check_domain(space: Any) -> None:
    """Check the field `domain`: None, or two numbers."""
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
