"""The span of a dictionary's points in orthonormal coordinates: a new point adds a coordinate and does not change the others.

    z(x) = L⁻¹k(x),   L Lᵀ = K(spanning points)        a new point: l = z(x),  pivot² = k(x, x) − l·l,  L ← [[L, 0], [lᵀ, pivot]]

Here k(x) are the kernel values of x with the *spanning* points, those that added a coordinate. A point whose pivot² is at most
1e-12 k(x, x)(1 + a·a), with a = L⁻ᵀl, is in the span up to rounding. Such a point adds no coordinate, and the dictionary keeps it
only if its rule says so (`Dictionary.remembers`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.dictionary.dictionary import Dictionary, State
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.linalg.cholesky import LARGEST_DEFICIT, coefficients, is_factor, packed, solve, stands_out, with_row
from onkel.state import growing, memory


@memory
class Span:
    sampling: State
    points: Matrix = growing(0)  # (m, dim)  the dictionary
    joined: Counts = growing(0)  # (m,)  the round in which each point joined
    spanning: Counts = growing(0)  # (r,)  indices of the points that added a coordinate
    whitening: Vector = growing(0)  # (r (r + 1)/2,)  L, packed


def empty(dictionary: Dictionary, dim: int) -> Span:
    return Span(dictionary.init(), np.empty((0, dim)), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def widened(span: Span, dictionary: Dictionary, x: Vector, k: Vector, own: float, round: int) -> tuple[Span, Vector, float]:
    """The span after the point x has joined in this round, with l and the pivot of x. The pivot is 0 if x was in the span already.

    k are the kernel values of x with all points, own = k(x, x). The given span is not changed.
    """
    l = k[span.spanning]
    r = len(l)
    solve(span.whitening, r, l)
    residual = own - float(l @ l)
    if residual < -LARGEST_DEFICIT * own:
        raise InputError(
            f"the kernel is not positive semi-definite: a row's distance from the span, squared, is {residual:g}; "
            "choose another kernel"
        )
    is_new = stands_out(coefficients(span.whitening, l), residual, own)
    if not (is_new or dictionary.remembers):
        return span, l, 0.0
    after = replace(
        span,
        sampling=dictionary.joined(span.sampling, k, own),
        points=np.vstack([span.points, x]),
        joined=np.append(span.joined, round),
    )
    if not is_new:
        return after, l, 0.0
    pivot = float(np.sqrt(residual))
    after.spanning = np.append(span.spanning, len(span.points))
    after.whitening = with_row(span.whitening, r, l, pivot)
    return after, l, pivot


def check(span: Span, dictionary: Dictionary, kernel: Kernel, rows: int, budget: int | None) -> None:
    """Refuse a span that `widened` cannot have made in `rows` rounds."""
    m, r = len(span.points), len(span.spanning)
    dictionary.check(span.sampling, kernel, span.points)
    if len(span.joined) != m or np.any(np.diff(span.joined, prepend=-1, append=rows) <= 0):
        raise InputError("the rounds in which its points joined do not fit its rows")
    if np.any(np.diff(span.spanning, prepend=-1, append=m) <= 0):
        raise InputError("its spanning points are not points of its dictionary")
    if r < m and not dictionary.remembers:
        raise InputError(f"of its {m} points only {r} span, although its dictionary forgets points that do not")
    spanning = span.points[span.spanning]
    own = kernel.diagonal(spanning)
    if len(span.whitening) != packed(r) or not is_factor(
        span.whitening, r, own, lambda a, b: kernel.values(spanning[a:b], spanning)
    ):
        raise InputError("the stored factor does not match the kernel matrix of the stored points")
    if budget is not None and m > budget:
        raise InputError(f"its dictionary has {m} points, its budget is {budget}")
