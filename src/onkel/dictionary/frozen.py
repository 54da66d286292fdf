"""Curves that change no more, as in Figure 1 of Herbster (2001): sorted keys, and for each of them the sums over all keys up to it
and over all keys behind it. A binary search and a few products then give a curve at any point, with no tree and no blocks.

    left[i]  = Σ_{l ≤ i} a_l lower(p_l) e^(−rate (p_i − p_l))         right[i] = Σ_{l ≥ i} a_l upper(p_l) e^(−rate (p_l − p_i))

Departs from the paper: a sum is anchored at its own key. As printed, Σ a_l e^(rate p_l), it overflows for rate × range > 700.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.dictionary.block_layout import COEF, KEY, Inputs, decay, decay_rate
from onkel.dictionary.sorted_blocks import SortedBlocks
from onkel.kernels import Additive
from onkel.kernels.additive import Given
from onkel.kernels.lists import KIND, POWERS, SHAPE, SIDES, split


@dataclass(frozen=True)
class Frozen:
    """f(x) = Σ_c f_c(x_c) of sorted blocks at one moment; nothing of them is kept."""

    kernel: Additive
    starts: Counts  # (inputs + 1,)  where the keys of each input begin
    keys: Vector  # of all inputs, one behind the other
    left: Matrix  # (keys, sides)
    right: Matrix
    totals: Matrix  # (inputs, powers)

    def curves(self, X: Matrix) -> Matrix:
        """f_c(x_c) of each row and input."""
        dim = X.shape[1]
        sides, powers = self.kernel.widths
        out, inputs = np.empty((len(X), len(self.starts) - 1)), Inputs(self.kernel.table(dim), sides, powers)
        _evaluate(inputs, self.starts, self.keys, self.left, self.right, self.totals, self.kernel.lists(X), out)
        return out


def freeze(f: SortedBlocks, kernel: Additive, dim: int) -> Frozen:
    """The curves as they are now."""
    sides, _ = kernel.widths
    points = [keys_and_coefficients(f, c) for c in range(len(f.roots))]
    starts = np.cumsum([0, *(len(keys) for keys, _ in points)])
    left, right = np.zeros((starts[-1], sides)), np.zeros((starts[-1], sides))
    for c, (base, line, (keys, coef)) in enumerate(zip(kernel.bases(dim), kernel.table(dim), points, strict=True)):
        lower, upper = np.zeros((len(keys), sides)), np.zeros((len(keys), sides))
        if isinstance(base, Given):
            lower[:, : int(line[SIDES])], upper[:, : int(line[SIDES])], _ = base.lists(keys)
        else:
            _split_all(line, keys, lower, upper)
        part = slice(starts[c], starts[c + 1])
        _accumulate(decay_rate(line), keys, coef[:, None] * lower, coef[:, None] * upper, left[part], right[part])
    scale = f.scale[0]
    return Frozen(kernel, starts, np.concatenate([keys for keys, _ in points]), scale * left, scale * right, scale * f.totals[:, 0])


def keys_and_coefficients(f: SortedBlocks, c: int) -> tuple[Vector, Vector]:
    """The keys of an input in order, and the coefficient of each, without the scale."""
    level = f.roots[c : c + 1, 0]
    for _ in range(f.roots[c, 1]):
        level = np.concatenate([f.children[at, : f.children[at, -1]] for at in level])
    blocks = [f.blocks[at, : COEF + 1, : f.length[at]] for at in level]
    together = np.hstack(blocks) if blocks else np.empty((2, 0))
    return together[KEY], together[COEF]


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
