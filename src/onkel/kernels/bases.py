"""Bases: a user's own one-input kernel, given by functions of the smaller and of the larger input (the left and right lists of
`onkel.kernels.lists`), so that it is as fast as the built-in ones:

    k(p, q) = e^(−rate |p − q|) Σ_j lower_j(min(p, q)) upper_j(max(p, q)) + Σ_r both_r(p) both_r(q)

Each function takes a vector of n values and returns an (n, d) array. A kernel with only `both` has finite rank, at most the d of
`both`. The user must make sure that the kernel is positive semi-definite; this is not checked.

>>> def first(p):
...     return p[:, None]
>>> def one(p):
...     return np.ones((len(p), 1))
>>> Bases(lower=first, upper=one)([[0.2]], [[0.1], [0.7]])  # min(p, q)
array([[0.1, 0.2]])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import final

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config, function_name, real
from onkel.errors import InputError
from onkel.kernels.additive import Given, Line
from onkel.kernels.exponentials import exponentials
from onkel.kernels.lists import GIVEN

Function = Callable[[Vector], Matrix]


@final
@config
class Bases(Given):
    """k(p, q) = e^(−rate |p − q|) Σ_j lower_j(min(p, q)) upper_j(max(p, q)) + Σ_r both_r(p) both_r(q), a kernel of one input

    lower  Your functions of the smaller of the two inputs p and q; None: none.
    upper  Your functions of the larger of p and q; None: none.
    both   Your functions that are applied to p and to q; None: none. Default: None.
    rate   The rate of e^(−rate |p − q|), the factor of the first sum; 0: no factor. Default: 0.0.
    """

    lower: Function | None
    upper: Function | None
    both: Function | None = None
    rate: float = 0.0
    fallible = True

    def __post_init__(self) -> None:
        if (self.lower is None) != (self.upper is None) or (self.lower is None and self.both is None):
            raise InputError("Bases: give 'lower' and 'upper', or 'both' alone with None for the other two")
        if wrong := [fn for fn in (self.lower, self.upper, self.both) if fn is not None and not callable(fn)]:
            raise InputError(f"Bases: the settings 'lower', 'upper' and 'both' must be functions of a vector, got {wrong[0]!r}")
        real(self, "rate", 0.0, 1e30)

    def __repr__(self) -> str:
        names = [None if fn is None else function_name(fn) for fn in (self.lower, self.upper, self.both)]
        return f"Bases(lower={names[0]}, upper={names[1]}, both={names[2]}, rate={self.rate!r})"

    @property
    def line(self) -> Line:
        return GIVEN, self.rate, *self._lengths

    @cached_property
    def _lengths(self) -> tuple[int, int]:
        probe = np.array([0.5])
        lower, upper, both = (self._values(fn, probe) for fn in (self.lower, self.upper, self.both))
        if lower.shape != upper.shape:
            raise InputError(
                f"Bases: 'lower' returned {lower.shape[1]} columns and 'upper' {upper.shape[1]}; give both the same "
                "number, since column j of one is multiplied by column j of the other"
            )
        return lower.shape[1], both.shape[1]

    def lists(self, x: Vector) -> tuple[Matrix, Matrix, Matrix]:
        lower, upper, both = (self._values(fn, x) for fn in (self.lower, self.upper, self.both))
        if (lower.shape[1], both.shape[1]) != self._lengths or lower.shape != upper.shape:
            raise InputError("Bases: each of 'lower', 'upper' and 'both' must return the same number of columns in every call")
        return lower, upper, both

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        self.alone(X.shape[1])
        x, z = X[:, 0], Z[:, 0]
        (lower, upper, both), (lowers, uppers, boths) = self.lists(x), self.lists(z)
        for i in range(len(x)):
            decay = np.abs(x[i] - z)
            exponentials(decay, len(z), -self.rate)
            halves = np.where((z <= x[i])[:, None], lowers * upper[i], lower[i] * uppers)
            out[i] = decay * np.sum(halves, axis=1) + np.sum(both[i] * boths, axis=1)

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        self.alone(X.shape[1])
        lower, upper, both = self.lists(X[:, 0])
        out[:] = np.sum(lower * upper, axis=1) + np.sum(both**2, axis=1)

    def _values(self, fn: Function | None, x: Vector) -> Matrix:
        """The checked values of the function, (len(x), d). The function is called with one value at a time, so that the result for
        a value does not depend on the others."""
        if fn is None:
            return np.empty((len(x), 0))
        rows = [np.asarray(fn(np.array([value]))) for value in x]
        for value, row in zip(x, rows, strict=True):
            if row.ndim != 2 or len(row) != 1 or row.dtype.kind not in "biuf" or row.shape != rows[0].shape:
                gave = f"{row.dtype} of shape {row.shape}"
                raise InputError(f"Bases: {function_name(fn)} gave {gave} for one value; it must give numbers of shape (1, d)")
            if not np.isfinite(row).all():
                raise InputError(f"Bases: {function_name(fn)} gave {row[0]} for {value:g}; it must be finite everywhere")
        return np.vstack(rows).astype(np.float64) if rows else np.empty((0, self._width(fn)))

    def _width(self, fn: Function) -> int:
        return int(np.asarray(fn(np.array([0.5]))).shape[1])
