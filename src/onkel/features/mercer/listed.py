"""Listed: a user's own functions, in order of importance.

Each function takes a block (n, dim) and returns n numbers. It is called for one row at a time, so that the result does not depend
on how the stream is cut into blocks. The functions need not be orthonormal, but the closer to orthonormal they are on the rows of
the stream, the more accurate the fit is.

>>> def line(X): return X[:, 0]
>>> def bump(X): return np.exp(-X[:, 0] ** 2)
>>> Listed((line, bump)).functions(np.array([[0.0], [2.0]]), 2).round(3)
array([[0.   , 1.   ],
       [2.   , 0.018]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix, Vector
from onkel._validate import config, function_name
from onkel.errors import InputError
from onkel.features.mercer.system import System

Function = Callable[[Matrix], ArrayLike]


@final
@config
class Listed(System):
    """Your own functions ψ_1 … ψ_N with values λ_1 … λ_N, used like the eigenfunctions and eigenvalues of a kernel.

    each   Your functions, a tuple; each takes a block of rows (n, dim) and returns n numbers. They are saved by their names.
    sizes  The eigenvalues λ_j, a tuple of decreasing numbers; None: 1/j². Default: None.
    """

    each: Any
    sizes: Any = None
    fallible = True

    def __post_init__(self) -> None:
        if not isinstance(self.each, tuple) or not self.each or not all(map(callable, self.each)):
            raise InputError(f"Listed: each must be a tuple of functions of a block (n, dim), got {self.each!r}")
        if self.sizes is None:
            return
        sizes = np.asarray(self.sizes)
        if not isinstance(self.sizes, tuple) or sizes.shape != (len(self.each),) or sizes.dtype.kind not in "iuf":
            raise InputError(
                f"Listed: sizes must be a tuple of {len(self.each)} numbers, one for each function, got {self.sizes!r}"
            )
        if not (np.all(sizes > 0.0) and np.all(sizes <= LARGEST_NUMBER) and np.all(np.diff(sizes) <= 0.0)):
            raise InputError(f"Listed: sizes must be positive and must not increase, got {self.sizes!r}")
        object.__setattr__(self, "sizes", tuple(sizes.astype(float).tolist()))

    def __repr__(self) -> str:
        names = ", ".join(function_name(fn) for fn in self.each) + ("," if len(self.each) == 1 else "")
        return f"Listed(each=({names}), sizes={self.sizes!r})"

    def check_columns(self, dim: int) -> None:
        """All rows are accepted; the functions themselves may refuse some."""

    def limit(self, dim: int) -> int:
        return len(self.each)

    def values(self, count: int, dim: int = 1) -> Vector:
        return np.asarray(self.sizes or np.arange(1.0, len(self.each) + 1.0) ** -2.0)[:count]

    def functions(self, X: Matrix, count: int) -> Matrix:
        out = np.empty((len(X), count))
        for t in range(len(X)):
            for j, fn in enumerate(self.each[:count]):
                value = np.asarray(fn(X[t : t + 1].copy()))
                if value.shape != (1,) or value.dtype.kind not in "biuf":
                    raise InputError(
                        f"Listed: {function_name(fn)} must give one number for one row, got {value.dtype} of shape {value.shape}"
                    )
                if not abs(value[0]) <= LARGEST_NUMBER:
                    raise InputError(
                        f"Listed: {function_name(fn)} gave {value[0]} for row {t}; keep it finite, within ±{LARGEST_NUMBER:g}"
                    )
                out[t, j] = value[0]
        return out
