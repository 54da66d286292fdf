"""A user's own kernel: any Python function of two blocks, (m, d) and (n, d), that returns their (m, n) Gram block.

The function is called with one row of the first block at a time, so that its values do not depend on how the stream is cut into
blocks. Its values must be finite numbers; this is checked. The user must make sure that the kernel is positive semi-definite; this
is not checked.

>>> def cosine(X, Z):
...     return X @ Z.T / np.linalg.norm(X, axis=1)[:, None] / np.linalg.norm(Z, axis=1)
>>> CustomKernel(cosine)([[3.0, 4.0]], [[1.0, 0.0], [3.0, 4.0]])
array([[0.6, 1. ]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config, function_name
from onkel.errors import InputError
from onkel.kernels.kernel import Kernel, Program


@final
@config
class CustomKernel(Kernel):
    """k(x, z) = fn([x], [z]), a kernel given by your own function

    fn  Your function: two blocks of rows in, their kernel matrix out. The first block is always one row. It is saved by its name.
    """

    fn: Callable[[Matrix, Matrix], Matrix]
    fallible = True

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise InputError(f"CustomKernel: fn must be a function of two blocks of rows, got {self.fn!r}")

    def __repr__(self) -> str:
        return f"CustomKernel(fn={self.name})"

    @property
    def name(self) -> str:
        """The name of the function, by which it is printed and saved."""
        return function_name(self.fn)

    def program(self, dim: int) -> Program:
        raise InputError(f"{self!r} has no compiled form; use it where kernel values are enough, or call it as k(X, Z)")

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        for i in range(X.shape[0]):
            out[i] = self._row(X[i : i + 1], Z)

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        for i in range(X.shape[0]):
            out[i : i + 1] = self._row(X[i : i + 1], X[i : i + 1])

    def _row(self, x: Matrix, Z: Matrix) -> Vector:
        values = np.asarray(self.fn(_guarded(x), _guarded(Z)))
        if values.shape != (1, Z.shape[0]) or values.dtype.kind not in "biuf":
            raise InputError(
                f"{self.name} gave {values.dtype} of shape {values.shape} for blocks of shape {x.shape} and {Z.shape}; "
                f"it must give numbers of shape (1, {Z.shape[0]})"
            )
        if not np.isfinite(values).all():
            j = int(np.argmin(np.isfinite(values[0])))
            raise InputError(f"{self.name} gave {values[0, j]} for rows {x[0]} and {Z[j]}; it must be finite on all rows")
        return np.asarray(values[0], np.float64)


def _guarded(rows: Matrix) -> Matrix:
    """A view of the rows that a user's function can read but not change."""
    view = rows.view()
    view.flags.writeable = False
    return view
