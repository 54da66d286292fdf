"""Immutable curves, as in Figure 1 of Herbster (2001): sorted keys (the values of an input at the points), and for each key the
sums over all keys up to it and over all keys from it on. A binary search and a few products then give a curve at any value.

    left[i]  = Σ_{l ≤ i} a_l lower(p_l) e^(−rate (p_i − p_l))         right[i] = Σ_{l ≥ i} a_l upper(p_l) e^(−rate (p_l − p_i))

a_l is the coefficient of the key p_l; `lower` and `upper` are its left and right list, and `rate` is the kernel's rate of decay, or
0 (`onkel.kernels.lists`).

Departs from the paper: the exponents of a sum are relative to its own key, p_i. The paper's sum Σ a_l e^(rate p_l) overflows if
rate times the range of the keys is above 700.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.functions.anchors import decay, decay_rate
from onkel.functions.block_layout import Inputs
from onkel.functions.learnt import Learnt
from onkel.kernels import Additive, Kernel
from onkel.kernels.additive import Given
from onkel.kernels.lists import KIND, POWERS, SHAPE, SIDES, split


@dataclass(frozen=True, repr=False)
class AdditiveCurves(Learnt):
    """f(x) = Σ_c f_c(u_c), where the inputs u are the columns of x, then products of them."""

    kernel: Kernel
    terms: Additive  # the kernel without `Delta`, as a sum
    starts: Counts  # (inputs + 1,)  index of the first key of each input
    all_keys: Vector  # (keys,)  the sorted keys of the first input, then those of the second, …
    left: Matrix  # (keys, sides)
    right: Matrix  # (keys, sides)
    totals: Matrix  # (inputs, powers)  Σ a_l p_l^r over all keys of an input
    squared_norm: float | None = None

    def __repr__(self) -> str:
        return f"<AdditiveCurves of {len(self.starts) - 1} inputs and {len(self.all_keys):,} keys, {self.kernel!r:.200}>"

    def _values(self, X: Matrix) -> Vector:
        return np.asarray(self.curves(self.terms.inputs(X)).sum(axis=1))

    @property
    def additive(self) -> Additive:
        return self.terms

    def curves(self, inputs: Matrix) -> Matrix:
        alone = _alone(self.terms, inputs.shape[1])
        out, table = np.empty(inputs.shape), Inputs(alone.table(inputs.shape[1]), *alone.widths)
        _evaluate(table, self.starts, self.all_keys, self.left, self.right, self.totals, alone.lists(inputs), out)
        return out

    def keys(self, c: int) -> Vector:
        return self.all_keys[self.starts[c] : self.starts[c + 1]]


def additive_curves(kernel: Additive, points: list[tuple[Vector, Vector]], scale: float, totals: Matrix) -> AdditiveCurves:
    """The curves of an additive kernel. `points` has the sorted keys of each input and their coefficients; coefficients and totals
    are still to be multiplied by `scale`."""
    sides, _ = kernel.widths
    starts = np.cumsum([0, *(len(keys) for keys, _ in points)])
    left, right, alone = np.zeros((starts[-1], sides)), np.zeros((starts[-1], sides)), _alone(kernel, len(points))
    for c, (base, line, (keys, coef)) in enumerate(zip(alone.base, alone.table(len(points)), points, strict=True)):
        lower, upper = np.zeros((len(keys), sides)), np.zeros((len(keys), sides))
        if isinstance(base, Given):
            lower[:, : int(line[SIDES])], upper[:, : int(line[SIDES])], _ = base.lists(keys)
        else:
            _split_all(line, keys, lower, upper)
        part = slice(starts[c], starts[c + 1])
        _accumulate(decay_rate(line), keys, coef[:, None] * lower, coef[:, None] * upper, left[part], right[part])
    together = np.concatenate([keys for keys, _ in points])
    return AdditiveCurves(kernel, kernel, starts, together, scale * left, scale * right, scale * totals)


def _alone(kernel: Additive, inputs: int) -> Additive:
    """The same kernel without products, for rows that have every input, also each product, as a column."""
    return Additive(kernel.bases(inputs - len(kernel.products)))


@hot
def _split_all(line: Vector, keys: Vector, lower: Matrix, upper: Matrix) -> None:
    for i in range(keys.size):
        split(int(line[KIND]), line[SHAPE], keys[i], lower[i], upper[i])


@hot
def _accumulate(rate: float, keys: Vector, lower: Matrix, upper: Matrix, left: Matrix, right: Matrix) -> None:
    n = keys.size
    for j in range(left.shape[1]):
        for i in range(n):
            left[i, j] = lower[i, j] + (left[i - 1, j] * decay(rate, keys[i] - keys[i - 1]) if i > 0 else 0.0)
        for i in range(n - 1, -1, -1):
            right[i, j] = upper[i, j] + (right[i + 1, j] * decay(rate, keys[i + 1] - keys[i]) if i < n - 1 else 0.0)


@hot
def _evaluate(
    inputs: Inputs, starts: Counts, keys: Vector, left: Matrix, right: Matrix, totals: Matrix, rows: Matrix, out: Matrix
) -> None:  # fmt: skip
    d, width = inputs.sides, 1 + 2 * inputs.sides + inputs.powers
    for i in range(rows.shape[0]):
        for c in range(inputs.table.shape[0]):
            line, x = inputs.table[c], rows[i, c * width : (c + 1) * width]
            u, rate, total = x[0], decay_rate(line), 0.0
            for r in range(int(line[POWERS])):
                total += totals[c, r] * x[1 + 2 * d + r]
            at = starts[c] + np.searchsorted(keys[starts[c] : starts[c + 1]], u, side="right")
            if at > starts[c]:
                fading = decay(rate, u - keys[at - 1])
                for j in range(int(line[SIDES])):
                    total += left[at - 1, j] * fading * x[1 + d + j]
            if at < starts[c + 1]:
                fading = decay(rate, keys[at] - u)
                for j in range(int(line[SIDES])):
                    total += right[at, j] * fading * x[1 + j]
            out[i, c] = total
