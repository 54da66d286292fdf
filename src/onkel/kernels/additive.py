"""Additive: a sum of one-input kernels, k(x, z) = Σ_c k_c(x_c, z_c), so that f is a sum of curves, one per input.

Inputs are columns, and products of columns. An input with a domain (low, high) is mapped linearly to [0, 1]. With `domain=None` a
learner sets the domain from its first rows.

>>> from onkel.kernels import Exponential, Spline
>>> k = Additive((Spline(domain=(0.0, 2.0)), Exponential(rate=0.5)))
>>> k([[1.0, 3.0]], [[2.0, 3.0]])
array([[2.60416667]])
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.errors import InputError
from onkel.kernels.kernel import Kernel, Program
from onkel.kernels.lists import fill_lists
from onkel.kernels.rows import ADDITIVE, diagonal, gram
from onkel.kernels.space import ANYWHERE, Domain, on_each, on_first, ranges

Line = tuple[int, float, int, int]  # kind, shape, lengths of the left (or right) and of the global list: `lists`


class Interval(Kernel):
    """A kernel of one input. For rows of several columns, `Additive` sums such kernels.

    >>> isinstance(onkel.Spline(), onkel.kernels.Interval), isinstance(onkel.Gaussian(), onkel.kernels.Interval)
    (True, False)
    """

    domain: Domain | None = ANYWHERE  # (low, high), mapped to [0, 1]; None: to be set from the data
    wraps: ClassVar[bool] = False  # whether the kernel is periodic; otherwise it is constant outside its domain

    @property
    @abstractmethod
    def line(self) -> Line:
        """The kernel's kind and shape in `onkel.kernels.lists`, and the lengths of its lists."""

    def check_columns(self, dim: int) -> None:
        self.alone(dim)

    @property
    def has_domains(self) -> bool:
        return self.domain != ANYWHERE

    @property
    def is_open(self) -> bool:
        return self.domain is None

    def domain_count(self, dim: int) -> int:
        return 1

    def domains(self, X: Matrix) -> Matrix:
        return self.alone(X.shape[1]).domains(X)

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        return on_first(self, domains)

    def outside(self, X: Matrix) -> int:
        return self.alone(X.shape[1]).outside(X)

    def program(self, dim: int) -> Program:
        return self.alone(dim).program(dim)

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        self.alone(X.shape[1]).fill(X, Z, out)

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        self.alone(X.shape[1]).fill_diagonal(X, out)

    def alone(self, dim: int) -> Additive:
        """The same kernel as a sum with one term."""
        if dim != 1:
            raise InputError(f"{self!r} is a kernel of one column, got {dim}; write Additive({self!r}) for a curve in each column")
        return Additive(self)


class Given(Interval):
    """A kernel whose lists are computed by a user's functions."""

    @abstractmethod
    def lists(self, x: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """lower, upper and the global list (`onkel.kernels.lists`) of each value, one row for each."""


@final
@config
class Additive(Kernel):
    """k(x, z) = Σ_c base_c(x_c, z_c): a sum of kernels of one input, so that f is a sum of curves

    base      A kernel of one input, such as Spline(), for all inputs; or a tuple with one for each: columns first, then
              products.
    products  Pairs (i, j) whose product x_i x_j is one more input; columns are counted from 0. Default: ().
    """

    base: Any
    products: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        bases = self.base if isinstance(self.base, tuple) else (self.base,)
        if not bases or not all(isinstance(base, Interval) for base in bases):
            raise InputError(
                f"Additive: base must be a kernel of one input, such as Spline(), or a tuple of them, got {self.base!r}"
            )
        pairs = self.products
        if not isinstance(pairs, tuple) or not all(_is_pair(pair) for pair in pairs):
            raise InputError(f"Additive: products must be pairs of columns counted from 0, such as ((0, 1),), got {pairs!r}")

    def __getstate__(self) -> dict[str, Any]:
        """Only the fields are pickled, not the cached tables. Loaded from a memory-mapped file, the tables would be read-only
        arrays, for which numba would compile all code again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def fallible(self) -> bool:  # type: ignore[override]
        return any(base.fallible for base in self.parts_with_domains)

    @property
    def parts_with_domains(self) -> tuple[Interval, ...]:
        return self.base if isinstance(self.base, tuple) else (self.base,)

    def check_columns(self, dim: int) -> None:
        if wrong := [pair for pair in self.products if max(pair) >= dim]:
            raise InputError(f"Additive: the product {wrong[0]} needs column {max(wrong[0])}, and X has columns 0 to {dim - 1}")
        if isinstance(self.base, tuple) and len(self.base) != dim + len(self.products):
            raise InputError(
                f"Additive: X has {dim} columns and there are {len(self.products)} products, got {len(self.base)} bases"
            )

    def bases(self, dim: int) -> tuple[Interval, ...]:
        """The kernel of each input, for rows of `dim` columns."""
        self.check_columns(dim)
        return self.base if isinstance(self.base, tuple) else (self.base,) * (dim + len(self.products))

    def inputs(self, X: Matrix) -> Matrix:
        """The columns of X, then the products."""
        return np.column_stack([X, *(X[:, i] * X[:, j] for i, j in self.products)]) if self.products else X

    def domain_count(self, dim: int) -> int:
        return dim + len(self.products)

    def domains(self, X: Matrix) -> Matrix:
        return ranges(self.inputs(X))

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        bases, left = on_each(self.bases(dim), 1, domains)
        return replace(self, base=bases), left

    def outside(self, X: Matrix) -> int:
        inputs, (low, high) = self.inputs(X), self._limits(X.shape[1])
        return int(np.count_nonzero((inputs < low) | (inputs > high)))

    @cached_property
    def _known(self) -> dict[tuple[str, int], Any]:
        """A cache of tables, by name and number of columns. To compute a table for each single row would take longer than the
        kernel itself."""
        return {}

    def _limits(self, dim: int) -> tuple[Vector, Vector]:
        """The lower and upper end of each input's domain."""
        if ("limits", dim) not in self._known:
            ends = [ANYWHERE if base.wraps or base.domain is None else base.domain for base in self.bases(dim)]
            self._known["limits", dim] = tuple(np.array(ends).T.copy())
        low, high = self._known["limits", dim]
        return low, high

    def table(self, dim: int) -> Matrix:
        """One line per input, in the format of `onkel.kernels.lists`."""
        if ("table", dim) not in self._known:
            pairs = [(c, -1) for c in range(dim)] + [tuple(pair) for pair in self.products]
            lines = [[*base.line, *pair, *_place(base)] for base, pair in zip(self.bases(dim), pairs, strict=True)]
            self._known["table", dim] = np.array(lines, float)
        table: Matrix = self._known["table", dim]
        return table

    def program(self, dim: int) -> Program:
        if self.fallible:
            raise InputError(f"{self!r} has no compiled form; use it where kernel values are enough, or call it as k(X, Z)")
        if ("program", dim) not in self._known:
            table = self.table(dim)
            self._known["program", dim] = np.array([ADDITIVE]), np.concatenate([[len(table)], table.ravel()])
        program: Program = self._known["program", dim]
        return program

    @cached_property
    def widths(self) -> tuple[int, int]:
        """The length of the longest left or right list of an input, and of the longest global list."""
        lines = [base.line for base in self.parts_with_domains]
        return max(sides for _, _, sides, _ in lines), max(powers for _, _, _, powers in lines)

    def lists(self, X: Matrix) -> Matrix:
        """For each row and input: its mapped value u, then lower(u), upper(u) and the global list, padded with zeros."""
        dim = X.shape[1]
        d, powers = self.widths
        bases, inputs = self.bases(dim), self.inputs(X)
        out = np.zeros((len(X), len(bases), 1 + 2 * d + powers))
        fill_lists(self.table(dim), X, d, out)
        for c, base in enumerate(bases if self.fallible else ()):
            if isinstance(base, Given):
                for start, values in zip((1, 1 + d, 1 + 2 * d), base.lists(inputs[:, c]), strict=True):
                    out[:, c, start : start + values.shape[1]] = values
        return out.reshape(len(X), len(bases) * out.shape[2])

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        if not self.fallible:
            codes, params = self.program(X.shape[1])
            gram(codes, params, X, Z, out)
            return
        A, B, values = self.inputs(X), self.inputs(Z), np.empty_like(out)
        out[:] = 0.0
        for c, base in enumerate(self.bases(X.shape[1])):
            base.fill(A[:, c : c + 1].copy(), B[:, c : c + 1].copy(), values)
            out += values

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        if not self.fallible:
            codes, params = self.program(X.shape[1])
            diagonal(codes, params, X, out)
            return
        inputs, values = self.inputs(X), np.empty_like(out)
        out[:] = 0.0
        for c, base in enumerate(self.bases(X.shape[1])):
            base.fill_diagonal(inputs[:, c : c + 1].copy(), values)
            out += values


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(type(column) is int and column >= 0 for column in pair)


def _place(base: Interval) -> tuple[float, float]:
    """The lower end and the length of the kernel's domain; 0 and 0 if its input is not mapped."""
    if base.domain is None:
        raise InputError(f"{base!r} has no domain; give it one: domain=(low, high)")
    low, high = base.domain
    return (0.0, 0.0) if base.domain == ANYWHERE else (low, high - low)
