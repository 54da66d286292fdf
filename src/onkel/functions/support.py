"""A function as a sum over support points, f(x) = ρ Σ a_i k(x_i, x).

    evaluate    f(x), and the kernel values of the points
    with_moment f(x) and its moment Σ i a_i k(x_i, x), where i is the round of x_i, counted from 1
    add         add a point
    put         replace a point
    shrink      f ← c f, by changing the scale ρ alone; ρ is multiplied into the coefficients before it becomes too small or large

The points are in the first `size` columns, in any order: `born` is the round of each. Kernel values are computed row by row, in a
fixed order, so that the bits do not depend on how the stream is cut into blocks. A kernel is passed to compiled code as its program
(`onkel.kernels.kernel`). A user's own kernel has no program, so its values are computed in Python, one row at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.functions.function import LARGEST_SCALE, SMALLEST_SCALE, Function
from onkel.functions.learnt import Expansion
from onkel.kernels import Kernel
from onkel.kernels.rows import ADDITIVE, leaf, row
from onkel.state import growing, grown, memory

LARGEST_MISMATCH = 1e-9  # relative, of k(x, x) when it is computed again: another machine may sum in another order
COMPOSED, GIVEN = -1, -2  # codes for kernels that are not elementary: a program, or a user's function


class KernelSource(NamedTuple):
    """How compiled code gets kernel values. The parameters of an elementary kernel are scalars, because passing arrays would cost
    as much as a few kernel values."""

    code: int  # the code of an elementary kernel; otherwise COMPOSED or GIVEN
    first: float  # the parameters of an elementary kernel
    second: float
    codes: Counts  # the program of a composed kernel
    params: Vector
    given: Matrix  # (1, points)  the values of a user's own kernel, for a single row


class SupportTerms(NamedTuple):
    """The arrays of a `Support`, for compiled code."""

    points: Matrix  # one point in each column
    coef: Vector
    own: Vector
    born: Counts
    scale: Vector
    size: Counts


@memory
class Support(Function):
    scale: Vector  # (1,)  ρ
    size: Counts  # (1,)  number of points; after them there are zeros
    points: Matrix = growing(1)  # (dim, room)  one point in each column, as compiled kernels need them
    coef: Vector = growing(0)  # (room,)  a
    own: Vector = growing(0)  # (room,)  k(x_i, x_i)
    born: Counts = growing(0)  # (room,)  the round in which the point was added, from 0

    @property
    def compiled(self) -> SupportTerms:
        return SupportTerms(self.points, self.coef, self.own, self.born, self.scale, self.size)

    @property
    def known(self) -> Matrix:
        """The points, (size, dim), one in each row."""
        return np.ascontiguousarray(self.points[:, : self.size[0]].T)

    @property
    def has_room(self) -> bool:
        return bool(self.size[0] < len(self.coef))

    def make_room(self, kernel: Kernel) -> None:
        """Enlarge the arrays if another point would not fit."""
        size = int(self.size[0]) + 1
        longer = {name: grown(getattr(self, name), size) for name in ("coef", "own", "born")}
        vars(self).update(longer, points=grown(self.points, size, axis=1))  # one step, which no interrupt can split

    def merge(self) -> None:
        """Merge equal points, in the slot of the first of them. This does not change f, but it changes its moment."""
        size = int(self.size[0])
        _, first, which = np.unique(self.known, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        coef = np.bincount(rank[which.ravel()], self.coef[:size], len(order))
        kept = first[order]
        for name in ("points", "coef", "own", "born"):
            array = getattr(self, name)
            array[..., : len(kept)] = coef if name == "coef" else array[..., kept]
            array[..., len(kept) : size] = 0
        self.size[0] = len(kept)

    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Expansion:
        size = int(self.size[0])
        coef = self.scale[0] * self.coef[:size]
        if rounds is not None:
            coef *= 1.0 - (self.born[:size] + 1.0) / (rounds + 1.0)
        return Expansion(kernel, self.known, coef)

    def bytes_with(self, rows: int) -> int:
        return 2 * bytes_of(len(self.points), int(self.size[0]) + rows)

    def source(self, kernel: Kernel, rows: Matrix) -> KernelSource:
        return source(kernel, rows, self.points[:, : self.size[0]])

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse a sum that `rows` rounds cannot lead to."""
        size, lengths = int(self.size[0]), {len(array) for array in (self.points.T, self.coef, self.own, self.born)}
        if len(lengths) > 1 or not 0 <= size <= min(max(lengths), rows) or (room is not None and max(lengths) != room):
            raise InputError("its points, their coefficients and its number of points do not fit together")
        after = (self.points[:, size:], self.coef[size:], self.own[size:], self.born[size:])
        if any(np.any(array != 0) for array in after):
            raise InputError("it has numbers after its last point")
        if not SMALLEST_SCALE <= self.scale[0] <= LARGEST_SCALE or not np.isfinite(self.coef).all():
            raise InputError("its coefficients are outside the range that can be learnt")
        born, points = self.born[:size], self.known
        if np.any(born < 0) or np.any(born >= rows) or len(np.unique(born)) < size:
            raise InputError("the rounds of its points are not different rounds of its stream")
        seen = np.max(np.abs(points), initial=0.0) <= LARGEST_NUMBER
        if not seen or not np.allclose(kernel.diagonal(points), self.own[:size], rtol=LARGEST_MISMATCH, atol=0.0):
            raise InputError("its points do not fit their kernel values")


def empty(kernel: Kernel, dim: int, moment: bool = False) -> Support:
    """f = 0, a function of rows of `dim` columns. A moment needs no memory of its own, since the round of each point is stored."""
    return with_room(dim, 0)


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return bytes_of(dim, 0)


def with_room(dim: int, room: int) -> Support:
    """f = 0, with room for this many points."""
    arrays = np.zeros((dim, room)), np.zeros(room), np.zeros(room), np.zeros(room, np.int64)
    return Support(np.ones(1), np.zeros(1, np.int64), *arrays)


def bytes_of(dim: int, room: int) -> int:
    """The bytes that `with_room` will hold."""
    return 8 * (room * (dim + 3) + 2)


def source(kernel: Kernel, X: Matrix, points: Matrix) -> KernelSource:
    """The kernel in the format of compiled code, for rows X and points in columns. For a user's kernel, X must be a single row."""
    if kernel.fallible:
        return KernelSource(GIVEN, 0.0, 0.0, np.empty(0, np.int64), np.empty(0), kernel.values(X, np.ascontiguousarray(points.T)))
    codes, params = kernel.program(X.shape[1])
    code = int(codes[0]) if len(codes) == 1 and codes[0] != ADDITIVE else COMPOSED
    first, second = np.append(params, (0.0, 0.0))[:2]
    return KernelSource(code, float(first), float(second), codes, params, np.empty((1, 0)))


@hot_inline
def values(source: KernelSource, points: Matrix, size: int, x: Vector, k: Vector) -> None:
    """k[i] ← k(x_i, x) for the first `size` points, in columns."""
    if source.code >= 0:
        leaf(source.code, source.first, source.second, points, size, x, k)
    elif source.code == COMPOSED:
        row(source.codes, source.params, points, size, x, k)
    else:
        for i in range(source.given.shape[1]):
            k[i] = source.given[0, i]


@hot_inline
def evaluate(source: KernelSource, f: SupportTerms, x: Vector, k: Vector) -> float:
    """f(x). Also k[i] ← k(x_i, x)."""
    n = f.size[0]
    values(source, f.points, n, x, k)
    total = 0.0
    for i in range(n):
        total += f.coef[i] * k[i]
    return float(f.scale[0] * total)


@hot_inline
def with_moment(source: KernelSource, f: SupportTerms, x: Vector, k: Vector) -> tuple[float, float]:
    """f(x), and the moment of f at x (see `representations`). Also k[i] ← k(x_i, x)."""
    n = f.size[0]
    values(source, f.points, n, x, k)
    total, later = 0.0, 0.0
    for i in range(n):
        term = f.coef[i] * k[i]
        total += term
        later += (f.born[i] + 1.0) * term
    return f.scale[0] * total, f.scale[0] * later


@hot_inline
def add(f: SupportTerms, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·); there is room."""
    put(f, f.size[0], x, own, a, round)
    f.size[0] += 1


@hot_inline
def join(kernel: KernelSource, f: SupportTerms, x: Vector, own: float, a: float, round: int) -> None:
    """The same as `add`, with the arguments that all representations share."""
    add(f, x, own, a, round)


@hot_inline
def put(f: SupportTerms, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """Put the point x with coefficient a into a slot."""
    for j in range(x.size):
        f.points[j, slot] = x[j]
    f.coef[slot] = a / f.scale[0]
    f.own[slot] = own
    f.born[slot] = round


@hot_inline
def shrink(f: SupportTerms, factor: float) -> None:
    """f ← factor · f."""
    f.scale[0] *= factor
    if not SMALLEST_SCALE <= f.scale[0] <= LARGEST_SCALE:
        for i in range(f.size[0]):
            f.coef[i] *= f.scale[0]
        f.scale[0] = 1.0


@hot_inline
def oldest(f: SupportTerms) -> int:
    """The slot of the oldest point."""
    slot = 0
    for i in range(1, f.size[0]):
        slot = i if f.born[i] < f.born[slot] else slot
    return slot


@hot_inline
def keep(kernel: KernelSource, f: SupportTerms, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """f ← f + a k(x, ·). If f has `most` points, the oldest one is replaced."""
    if f.size[0] < most:
        add(f, x, own, a, round)
    else:
        put(f, oldest(f), x, own, a, round)


@hot_inline
def amend(kernel: KernelSource, f: SupportTerms, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·) for the point in this slot, or for a new point at the end."""
    if slot < f.size[0]:
        f.coef[slot] += a / f.scale[0]
    else:
        add(f, x, own, a, round)


@hot_inline
def count(f: SupportTerms) -> int:
    """The number of points that have slots."""
    return int(f.size[0])


@hot_inline
def holds(f: SupportTerms, most: int) -> bool:
    """Whether f has `most` points."""
    return bool(f.size[0] == most)


@hot_inline
def has_room(f: SupportTerms) -> bool:
    return not is_full(f)


@hot
def prepare(source: KernelSource, f: SupportTerms, X: Matrix) -> Vector:
    """Scratch memory for the kernel values of a row."""
    return np.empty(f.coef.size)


@hot_inline
def is_full(f: SupportTerms) -> bool:
    return bool(f.size[0] == f.coef.size)


@hot_inline
def is_mistake(score: float, y: float) -> bool:
    """Whether the sign of the score differs from that of the label y; sign(0) = +1."""
    return (score >= 0.0) != (y > 0.0)
