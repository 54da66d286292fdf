"""Features from two small sketches of a kernel matrix. A new point changes the sketches by a low-rank update.

    Φ_pp = SᵀKS,   Φ_pm = SᵀK[:, landmarks]          K: kernel matrix of all sketched points, S: a sparse random row for each point
    Φ_pp ≈ VΣVᵀ, rank k,   Z = Φ_pm⁺ V Σ^½,   φ(x) = Zᵀ k(landmarks, x)                 so that φ(x)·φ(x') approximates k(x, x')
    a new point x, s its row of S, u = Sᵀ k(points, x):
        Φ_pm += s k(landmarks, x)ᵀ,   Φ_pp += s uᵀ + u sᵀ + k(x, x) s sᵀ,   V and Σ are updated           (`onkel.linalg.eigen`)

The landmarks are some of the sketched points, k(·, ·) is the kernel, the number k the rank, and ⁺ the pseudo-inverse.

S is the sparse Johnson-Lindenstrauss transform: each row has one entry ±1/√d in each of d blocks of columns. The column and the
sign of an entry are drawn by the counter-based generator from the number of the point, so S is never stored.

>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(200, 2))
>>> sketch = Sketching(size=100, landmarks=40, rank=25, blocks=1, growing=False, room=0, seed=0)
>>> state = sketch.init(dim=2)
>>> K = sketch.build(state, onkel.Gaussian(), X)
>>> Phi = K[:, state.numbers] @ state.map[:, : state.width].T
>>> bool(np.linalg.norm(Phi @ Phi.T - K) < 0.1 * np.linalg.norm(K))
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.linalg.eigen import leading, updated
from onkel.random import below, uniform
from onkel.state import memory

CUT = 1e-6  # limit for singular values in Φ_pm⁺, relative to the largest; φ·φ has an error of up to 1e-16/CUT²
UPDATES_TO_REBUILD = 50  # after this many updates Φ_pp is decomposed again: truncated updates lose directions that grow slowly
# largest difference between a sketch and the same sketch computed again from its points, relative to the size of its terms
LARGEST_MISMATCH = 1e-6
LANES = 8  # compiled code handles this many landmarks at once; Zᵀ is padded with zeros to a multiple of it


def in_lanes(count: int) -> int:
    return -(-count // LANES) * LANES


@memory
class Sketch:
    landmarks: Matrix  # (dim, m₈)  the landmarks, one in each column; m₈ is m rounded up to a multiple of LANES
    numbers: Counts  # (m,)  the indices of the landmarks among the sketched points
    pm: Matrix  # (p, m)  Φ_pm
    pp: Matrix  # (p, p)  Φ_pp
    vectors: Matrix  # (p, k)  V
    values: Vector  # (k,)  Σ, descending
    map: Matrix  # (k, m₈)  Zᵀ
    width: int = 0  # number of landmarks; after them there are zeros
    updates: int = 0  # number of points that joined after the start


@dataclass(frozen=True)
class Sketching:
    """The settings of a sketch, and how it is built and updated."""

    size: int  # p: columns of S
    landmarks: int  # number of landmarks at the start
    rank: int  # k
    blocks: int  # d
    growing: bool  # whether a point that joins may become a landmark, with the same probability as the points at the start
    room: int  # number of points that may join
    seed: int

    def init(self, dim: int) -> Sketch:
        """A sketch without points."""
        m, p, k = self._most, self.size, self.rank
        return Sketch(
            np.zeros((dim, in_lanes(m))), np.zeros(m, np.int64), np.zeros((p, m)), np.zeros((p, p)),
            np.zeros((p, k)), np.zeros(k), np.zeros((k, in_lanes(m))),
        )  # fmt: skip

    def footprint(self, dim: int) -> int:
        """The bytes that `init` will hold."""
        m, p, k = self._most, self.size, self.rank
        return 8 * (in_lanes(m) * (dim + k) + m * (1 + p) + p * (p + k) + k + 2)

    @property
    def _most(self) -> int:
        """The largest number of landmarks. With more than half as many as S has columns, Φ_pm⁺, and so φ, would become huge."""
        return min(self.landmarks + self.room, max(self.landmarks, self.size // 2)) if self.growing else self.landmarks

    def build(self, state: Sketch, kernel: Kernel, points: Matrix) -> Matrix:
        """Sketch the points at the start; returns their kernel matrix."""
        K = kernel.values(points, points)
        coins = np.array([uniform(self.seed, i, 0) for i in range(len(points))])
        chosen = np.sort(np.argsort(coins, kind="stable")[: self.landmarks])
        m = state.width = self.landmarks
        state.numbers[:m], state.landmarks[:, :m] = chosen, points[chosen].T
        state.pm[:, :m] = self._sketched(K[:, chosen])
        state.pp[:] = self._sketched(np.ascontiguousarray(self._sketched(K).T))
        state.vectors, state.values = leading(state.pp, self.rank)
        self._map(state)
        return K

    def join(self, state: Sketch, kernel: Kernel, points: Matrix, x: Vector, own: float, truncated: bool) -> None:
        """Add the point x, which comes after `points`. V and Σ are updated if `truncated`, otherwise Φ_pp is decomposed again."""
        number, m = len(points), state.width
        k = kernel.values(x[None, :], points)[0]
        s, u = self._sketched(np.ones((1, 1)), number)[:, 0], self._sketched(k[:, None])[:, 0]
        state.pm[:, :m] += np.outer(s, k[state.numbers[:m]])
        state.pp += np.outer(s, u) + np.outer(u, s) + own * np.outer(s, s)
        state.updates += 1
        if m < self._most and uniform(self.seed, number, 0) < self.landmarks / self._at_first(state, number):
            state.numbers[m], state.landmarks[:, m], state.pm[:, m] = number, x, u + own * s
            state.width += 1
        if truncated and state.updates % UPDATES_TO_REBUILD:
            state.vectors, state.values = updated(state.vectors, state.values, s, u, own)
        else:
            state.vectors, state.values = leading(state.pp, self.rank)
        self._map(state)

    @staticmethod
    def _at_first(state: Sketch, number: int) -> int:
        """The number of points at the start."""
        return number - state.updates + 1

    def _sketched(self, A: Matrix, first: int = 0) -> Matrix:
        """SᵀA, for the rows of S from `first` on."""
        out = np.zeros((self.size, A.shape[1]))
        _sketch(self.seed, self.blocks, first, A, out)
        return out

    def _map(self, state: Sketch) -> None:
        m = state.width
        state.map[:, :m] = (np.linalg.pinv(state.pm[:, :m], rtol=CUT) @ (state.vectors * np.sqrt(state.values))).T

    def check(self, state: Sketch, kernel: Kernel, points: Matrix) -> None:
        """Refuse a sketch that `build` and `join` cannot have made of these points. If there are no points, it must be empty."""
        m = state.width
        if len(points) == 0:
            if m or state.updates or any(np.any(array != 0) for array in (state.pm, state.pp, state.map, state.landmarks)):
                raise InputError("it has a sketch before it has points for one")
            return
        numbers = state.numbers[:m]
        if not self.landmarks <= m <= self._most or not 0 <= state.updates <= self.room:
            raise InputError("the sizes of its sketch do not fit its settings")
        if np.any(np.diff(numbers, prepend=-1, append=len(points)) <= 0) or not np.array_equal(
            state.landmarks[:, :m].T, points[numbers]
        ):
            raise InputError("its landmarks are not points of its sketch")
        K = kernel.values(points, points)
        wanted = self._sketched(np.ascontiguousarray(self._sketched(K).T))
        scale = len(points) * float(np.max(np.diag(K)))  # the size of the terms, since signs may cancel in the sum
        if not np.max(np.abs(state.pp - wanted)) <= LARGEST_MISMATCH * scale:
            raise InputError("the stored sketch does not match the kernel matrix of the stored points")
        if not np.max(np.abs(state.pm[:, :m] - self._sketched(K[:, numbers]))) <= LARGEST_MISMATCH * scale:
            raise InputError("its sketch is not that of its landmarks' kernel values")
        if not np.allclose(state.vectors.T @ state.vectors, np.eye(self.rank), rtol=0.0, atol=LARGEST_MISMATCH):
            raise InputError("the directions of its sketch are not orthonormal")
        if (
            np.any(np.diff(state.values, append=0.0) > 0.0)
            or not state.values[0] <= np.linalg.norm(wanted) + LARGEST_MISMATCH * scale
        ):
            raise InputError("the values of its sketch are not eigenvalues of it")
        roots = state.vectors * np.sqrt(state.values)
        gap = state.pm[:, :m].T @ (state.pm[:, :m] @ state.map[:, :m].T - roots)  # this gap is 0 at a least squares solution
        if not np.max(np.abs(gap)) <= 10.0 * CUT * float(np.linalg.norm(state.pm) * np.linalg.norm(roots)):
            raise InputError("its map is not the one that follows from its sketch")


@hot
def _sketch(seed: int, blocks: int, first: int, A: Matrix, out: Matrix) -> None:
    """out ← out + SᵀA."""
    width = out.shape[0] // blocks
    entry = 1.0 / np.sqrt(blocks)
    for i in range(A.shape[0]):
        for b in range(blocks):
            column = b * width + below(seed, first + i, 1 + 2 * b, width)
            sign = entry if uniform(seed, first + i, 2 + 2 * b) < 0.5 else -entry
            for j in range(A.shape[1]):
                out[column, j] += sign * A[i, j]


@hot_inline
def embed(k: Vector, width: int, M: Matrix, phi: Vector) -> None:
    """φ ← M k, using only the first `width` kernel values and columns of M."""
    whole = phi.size // 4 * 4
    for c in range(0, whole, 4):  # four sums per pass, so that k is read a quarter as often
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(width):
            p += k[j] * M[c, j]
            q += k[j] * M[c + 1, j]
            r += k[j] * M[c + 2, j]
            s += k[j] * M[c + 3, j]
        phi[c], phi[c + 1], phi[c + 2], phi[c + 3] = p, q, r, s
    for c in range(whole, phi.size):
        p = 0.0
        for j in range(width):
            p += k[j] * M[c, j]
        phi[c] = p
