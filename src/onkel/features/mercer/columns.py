"""Systems of several columns, made of one system per column.

    ProductSystem     ψ = Π_c ψ_{j_c}(x_c),   λ = Π_c λ_{j_c}, by decreasing λ    all interactions, in order of importance
    AdditiveSystem    1, ψ_1(x_1), ψ_1(x_2), …, ψ_2(x_1), ψ_2(x_2), …             a sum of curves; the constant is used once

If the λ of two products differ by less than TIE, they count as equal, and the smaller multi-index (j_1, j_2, …) comes first, so
that rounding does not decide.
"""

from __future__ import annotations

import functools
import heapq
import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config
from onkel.errors import InputError
from onkel.features.mercer.hermite import Hermite
from onkel.features.mercer.system import UNLIMITED, Line, System
from onkel.kernels.space import on_each

TIE = 1e-9  # relative difference

Index = tuple[tuple[int, int], ...]  # a multi-index, counted from 0, as (rank of a column, its entry) for the entries above 0


class Columns(System):
    """A system made of one system per column."""

    base: Any

    def _check(self) -> None:
        """Check the field `base`."""
        bases = self.base if isinstance(self.base, tuple) else (self.base,)
        if not bases or not all(isinstance(base, Line) for base in bases):
            name = type(self).__name__
            raise InputError(
                f"{name}: base must be a system of one column, such as Cosine(), or a tuple of them, got {self.base!r}"
            )

    def check_columns(self, dim: int) -> None:
        if isinstance(self.base, tuple) and len(self.base) != dim:
            raise InputError(f"{type(self).__name__}: X has {dim} columns, got {len(self.base)} bases")

    def bases(self, dim: int) -> tuple[Line, ...]:
        """The system of each column."""
        self.check_columns(dim)
        return self._different(dim) if isinstance(self.base, tuple) else self._different(dim) * dim

    @property
    def parts_with_domains(self) -> tuple[Line, ...]:
        return self.base if isinstance(self.base, tuple) else (self.base,)

    def _different(self, dim: int) -> tuple[Line, ...]:
        """The systems of the columns as a tuple; one system if all columns share it, as there may be too many columns to list."""
        return _for_columns(self.parts_with_domains, dim)

    def domain_count(self, dim: int) -> int:
        return dim

    def domains(self, X: Matrix) -> Matrix:
        return np.vstack([base.domains(X[:, c : c + 1]) for c, base in enumerate(self.bases(X.shape[1]))])

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        bases, left = on_each(self.bases(dim), 1, domains)
        return replace(self, base=bases), left  # type: ignore[type-var]

    def outside(self, X: Matrix) -> int:
        return sum(base.outside(X[:, c : c + 1]) for c, base in enumerate(self.bases(X.shape[1])))

    @abstractmethod
    def values(self, count: int, dim: int = 1) -> Vector: ...


@functools.lru_cache(maxsize=64)
def _for_columns(bases: tuple[Line, ...], dim: int) -> tuple[Line, ...]:
    return tuple(base.for_columns(dim) if isinstance(base, Hermite) else base for base in bases)


@final
@config
class ProductSystem(Columns):
    """The eigenfunctions of a product of kernels, one per column: all products of the columns' functions, by decreasing eigenvalue.

    base  A system for every column, or a tuple with one for each. Default: Hermite().

    With a `rate`, MercerProjection uses N functions of d columns from row c N^((2α + d)/d) on, where α is its `smoothness`. The
    eigenvalues of a product of kernels fall like those of one column, N^(−2α'), up to logarithms, so α = d α' gives the rate of the
    theory: smoothness=2.0 for two columns of Cosine, whose α' is 1.

    >>> found = onkel.ProductSystem(onkel.Cosine(domain=(0.0, 1.0)))
    >>> found.values(6, dim=2).round(3)  # 1, then one curve in each column, then their first product
    array([1.   , 0.101, 0.101, 0.025, 0.025, 0.011])
    """

    base: Any = Hermite()

    def __post_init__(self) -> None:
        self._check()

    @property
    def has_constant(self) -> bool:  # type: ignore[override]
        return all(base.has_constant for base in self.parts_with_domains)

    def dimension(self, dim: int) -> int:
        return dim

    def limit(self, dim: int) -> int:
        most = 1
        for base in self._different(dim):
            one = base.limit(1)
            most *= one if isinstance(self.base, tuple) or one == 1 else one ** min(dim, 31)
        return min(most, UNLIMITED)

    def values(self, count: int, dim: int = 1) -> Vector:
        return _largest(self, count, dim)[1]

    def functions(self, X: Matrix, count: int) -> Matrix:
        which, _ = _largest(self, count, X.shape[1])
        out = np.ones((len(X), count))
        for c, base in enumerate(self.bases(X.shape[1])):
            _multiply(base.functions(X[:, c : c + 1], int(which[:, c].max()) + 1), which[:, c], out)
        return out


@final
@config
class AdditiveSystem(Columns):
    """The functions of an additive model: a constant, then the columns' functions in turn, so that f is a sum of curves.

    base  A system for every column, such as Cosine(), or a tuple with one for each.

    >>> X, y = onkel.data.friedman(3000, seed=0)
    >>> learner = onkel.MercerProjection(onkel.AdditiveSystem(onkel.Cosine(domain=(0.0, 1.0))))
    >>> scores = learner.learn(learner.init(dim=10), X, y)
    >>> bool(np.mean((scores - y)[1000:] ** 2) < 0.3 * np.var(y))  # a sum of curves; the product x₁x₂ is beyond it
    True
    """

    base: Any
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check()

    def size(self, level: int, dim: int) -> int:
        return 1 + level * dim

    def limit(self, dim: int) -> int:
        return min(base.limit(1) - int(base.has_constant) for base in self._different(dim))

    def values(self, count: int, dim: int = 1) -> Vector:
        each = -(-(count - 1) // dim)
        parts = [base.values(each + base.has_constant)[int(base.has_constant) :] for base in self.bases(dim)]
        return np.concatenate([[1.0], np.column_stack(parts).ravel()])[:count]

    def functions(self, X: Matrix, count: int) -> Matrix:
        (n, dim), each = X.shape, -(-(count - 1) // X.shape[1])
        out = np.empty((n, 1 + each * dim))
        out[:, 0] = 1.0
        for c, base in enumerate(self.bases(dim)):
            own = int(base.has_constant)
            out[:, 1 + c :: dim] = base.functions(X[:, c : c + 1], each + own)[:, own:]
        return np.ascontiguousarray(out[:, :count])


@functools.lru_cache(maxsize=256)
def _largest(system: ProductSystem, count: int, dim: int) -> tuple[Counts, Vector]:
    """The multi-indices of the largest products, (count, dim), counted from 0, and the values λ of these products.

    Products are taken from a heap, those of equal value together. Columns are ranked by λ_2/λ_1; the column with the largest ratio
    comes first. When an index is taken from the heap, at most three others, its successors, are put on the heap. They have: the
    last entry plus 1; a new entry 1 in the next column; and, if the last entry is 1, this entry moved to the next column. So every
    index is put on the heap exactly once, after one whose value is not smaller, and the work does not depend on the number of
    columns.
    """
    known = {base: _Falling(base) for base in set(system.bases(dim))}
    columns = [known[base] for base in system.bases(dim)]
    ranked = sorted(range(dim), key=lambda c: -columns[c][1])

    def size(index: Index) -> float:
        return math.prod(columns[ranked[rank]][j] for rank, j in index)

    def in_order(index: Index) -> list[tuple[int, int]]:
        """A key that sorts like the full multi-index, in which the first columns count most."""
        return sorted(((-ranked[rank], j) for rank, j in index), reverse=True)

    heap: list[tuple[float, Index]] = [(-1.0, ())]
    order = list[Index]()
    while heap and len(order) < count:
        top, group = heap[0][0], []
        while heap and heap[0][0] <= top * (1.0 - TIE):
            _, index = heapq.heappop(heap)
            group.append(index)
            for after in _after(index, dim):
                if (value := size(after)) > 0.0:
                    heapq.heappush(heap, (-value, after))
        order += heapq.nsmallest(count - len(order), group, key=in_order)
    if len(order) < count:
        raise InputError(f"{system!r:.200} has only {len(order)} eigenvalues that are not rounded to 0; lower count={count}")
    which = np.zeros((count, dim), np.int64)
    for i, index in enumerate(order):
        for rank, j in index:
            which[i, ranked[rank]] = j
    first = math.prod(column.first for column in columns)
    return which, first * np.array([size(index) for index in order])


def _after(index: Index, dim: int) -> list[Index]:
    if not index:
        return [((0, 1),)]
    *others, (rank, j) = index
    after: list[Index] = [(*others, (rank, j + 1))]
    if rank + 1 < dim:
        after.append((*index, (rank + 1, 1)))
        if j == 1:
            after.append((*others, (rank + 1, 1)))
    return after


class _Falling:
    """The values of a column's system divided by the first one, computed when they are needed; 0 after the last."""

    def __init__(self, base: Line) -> None:
        self.base, self.most, self.first, self.known = base, base.limit(1), float(base.values(1)[0]), np.ones(1)

    def __getitem__(self, j: int) -> float:
        if len(self.known) <= j < self.most:
            self.known = self.base.values(min(2 * j + 1, self.most)) / self.first
        return float(self.known[j]) if j < self.most else 0.0


@hot
def _multiply(factor: Matrix, which: Counts, out: Matrix) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] *= factor[i, which[j]]
