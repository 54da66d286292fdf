"""Ridge regression in the square-root form: an upper triangular R with RᵀR = A, and c = R⁻ᵀb. Only rotations, never a subtraction.

A row [v | y] is rotated into [R | c], one Givens rotation a column:

    column i     h = √(R_ii² + v_i²),  cos = R_ii / h,  sin = v_i / h
                 (R_i, v) ← (cos R_i + sin v,  cos v − sin R_i),  and the same for (c_i, y)

On the way the i-th entry of z = R⁻ᵀv is v_i / (R_ii · Π cos): the score needs no solve, since m = z·c and s = z·z.

Forgetting μ (DESIGN): A ← μA + v vᵀ + λ(1 − μʳ) e_j e_jᵀ with j = t mod r, b ← μb + y v. The decay is one shared `scale`,
the ridge's return one more row, √(λ(1−μʳ)) e_j, before v.

The leading N × N block of R, with the first N entries of c, is the factor of the first N features alone.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import compiled_or, hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.linalg.blas import gemm_nt, solve_upper_transposed

LANES = 8  # numbers in the widest vector register, a power of two
PAGE, SAME_PLACE = 512, 24  # of memory, in numbers; and how far apart two places of it are told apart
ROUNDS = 9  # three times three, learnt in one pass over R, whose rows stay in the nearest cache; passes end at absolute multiples
SMALLEST_SCALE = 1e-4  # below it the scale is folded into R and c
SMALLEST_PIVOT = 1e-100  # of R: a ridge that fades for hundreds of rounds before it returns would be too small for its square
SMALLEST_REMAINDER = 1e-7  # pivot² relative to its corner, below which a bordered R keeps fewer than about nine digits
LARGEST_ENTRY = 1e150  # of R and c; rows and labels cannot make larger ones

Terms = tuple[float, float, float]  # T_ii, T_ij/z_j and z_i


@hot
def learn(
    R: Matrix, c: Matrix, scales: Vector, learnt: Counts, V: Matrix, Y: Matrix, weight: Vector,
    awv: bool, lam: float, forgetting: float, scores: Matrix,
) -> None:  # fmt: skip
    """Score, then learn, each row of V, and count it; with the scale of (1,), A = scale² RᵀR, b = scale² Rᵀc."""
    n, r = V.shape
    returning = lam * (1.0 - forgetting**r)
    rounds, new = np.empty((2 * ROUNDS, r)), np.empty((2 * ROUNDS, Y.shape[1]))
    start, m, s = np.empty(2 * ROUNDS, np.int64), np.empty((2 * ROUNDS, Y.shape[1])), np.empty(2 * ROUNDS)
    done, scale, rows = 0, scales[0], learnt[0]
    while done < n:
        if weight[done] == 0.0:
            predict(R, c, scale, rows, V[done : done + 1], awv, lam, forgetting, scores[done : done + 1])
            done += 1
            continue
        if scale < SMALLEST_SCALE and rows % ROUNDS == 0:
            fold(R, c, scale, r)
            scale = 1.0
        size, first = 0, done
        while done < n and weight[done] > 0.0 and (size == 0 or rows % ROUNDS > 0):
            scale *= np.sqrt(forgetting)
            if forgetting < 1.0:
                start[size] = rows % r
                rounds[size] = 0.0
                rounds[size, start[size]] = np.sqrt(returning) / scale
                new[size] = 0.0
                size += 1
            start[size] = 0
            rounds[size] = V[done] * (np.sqrt(weight[done]) / scale)
            new[size] = Y[done] * (np.sqrt(weight[done]) / scale)
            size += 1
            rows += 1
            done += 1
        rotate(R, c, rounds[:size], new[:size], start[:size], m[:size], s[:size])
        _write_scores(m[:size], s[:size], weight, forgetting, scale, first, done, awv, scores)
    scales[0], learnt[0] = scale, rows


@hot
def fold(R: Matrix, c: Matrix, scale: float, size: int) -> None:
    """The scale becomes part of the leading block of R and c. A pivot that would leave the range of numbers is held."""
    for i in range(size):
        for j in range(i, size):
            R[i, j] *= scale
        R[i, i] = max(R[i, i], SMALLEST_PIVOT)
        for o in range(c.shape[0]):
            c[o, i] *= scale


def fading_notes(lam: float, forgetting: float, r: int, rows: int) -> list[str]:
    """What to know of a ridge that returns to one of r coordinates a round."""
    if lam * forgetting ** min(r, rows) >= SMALLEST_PIVOT**2:
        return []
    return [
        f"forgetting={forgetting:g} leaves no ridge on {r} features until it returns: it is held (raise it, or take fewer features)"
    ]


@hot
def _write_scores(
    m: Matrix, s: Vector, weight: Vector, forgetting: float, scale: float, first: int, done: int, awv: bool, scores: Matrix
) -> None:
    stride = s.size // (done - first)  # 2 where every round brought its returning ridge, else 1
    for i in range(first, done):
        k = (i - first) * stride + stride - 1
        shrink = 1.0 + s[k] / weight[i] if awv else 1.0
        scale_then = scale / np.sqrt(forgetting) ** (done - 1 - i)
        for o in range(m.shape[1]):
            scores[i, o] = m[k, o] * scale_then / np.sqrt(weight[i]) / shrink


@hot
def rotate(R: Matrix, c: Matrix, new: Matrix, labels: Matrix, start: Counts, m: Matrix, s: Vector) -> None:
    """Rotate the rows of [new | labels] into [R | c], in order. Row k is zero before column start[k].

    m and s receive zᵀc and zᵀz with z = R⁻ᵀ new_k, taken just before row k. `labels` are used up. Where the new rows are
    shorter than R, this happens to the leading block alone.

    Squares of the diagonal are summed first, so that the roots and divisions of a column do not wait for each other.
    """
    size, r = new.shape
    apart = np.empty((size, _stride(r)))
    for k in range(size):
        for j in range(r):
            apart[k, j] = new[k, j]
    _rotate_columns(R, c, r, apart, labels, start, m, s, np.empty(size, np.int64), np.empty((6, size + 1)))


@hot_inline
def _stride(r: int) -> int:
    """From one row of r numbers to the next. Rows at the same place of two pages of memory, or nearly, wait for each other."""
    stride = (r + LANES - 1) & -LANES
    while (stride + SAME_PLACE) % PAGE < 2 * SAME_PLACE:
        stride += LANES
    return stride


@hot_lean
def _rotate_columns(
    R: Matrix, c: Matrix, r: int, new: Matrix, labels: Matrix, start: Counts, m: Matrix, s: Vector, which: Counts, work: Matrix
) -> None:
    # Column by column, and in a column all new rows, in place of row by row: R is then read once for all of them.
    size = new.shape[0]
    square, inverse, cos, sin, z, grown = work[0], work[1], work[2], work[3], work[4], work[5]
    for k in range(size):
        grown[k], s[k] = 1.0, 0.0
        for o in range(labels.shape[1]):
            m[k, o] = 0.0
    for i in range(r):
        # 1. The diagonal entry after each rotation, squared: a running sum. All roots and divisions come after it, side by side;
        #    one rotation after the other, each would wait for the root of the one before.
        active = 0
        square[0] = R[i, i] * R[i, i]
        for k in range(size):
            if start[k] <= i:
                which[active] = k
                square[active + 1] = square[active] + new[k, i] * new[k, i]
                active += 1
        for a in range(active + 1):
            inverse[a] = 1.0 / np.sqrt(square[a])
        # 2. The angles; and z_i of row k, a solve with R as it was before row k. By now new[k, i] has been turned by the rotations
        #    of the columns before i, which have shrunk it: `grown` is the product of their 1/cos, and undoes that.
        for a in range(active):
            k = which[a]
            cos[a] = square[a] * inverse[a] * inverse[a + 1]
            sin[a] = new[k, i] * inverse[a + 1]
            z[a] = new[k, i] * inverse[a] * grown[k]
            s[k] += z[a] * z[a]
            grown[k] *= square[a + 1] * inverse[a + 1] * inverse[a]
        # 3. The labels are turned like one more column; just before its turn, x is c_i as row k meets it, which gives z·c.
        for o in range(labels.shape[1]):
            x = c[o, i]
            for a in range(active):
                y = labels[which[a], o]
                m[which[a], o] += z[a] * x
                labels[which[a], o] = cos[a] * y - sin[a] * x
                x = cos[a] * x + sin[a] * y
            c[o, i] = x
        # 4. The rest of row i. It begins a little too far left, so that its length is a multiple of the vector registers: columns
        #    before i are 0 in all of these rows, and stay so. Column i itself is written last: step 1 knows it.
        first = max(0, r - ((r - i + LANES - 2) & -LANES))
        _rotate_row(R[i, first:r], new, first, which[:active], cos, sin)
        R[i, i] = square[active] * inverse[active]
        for a in range(active):
            new[which[a], i] = 0.0


@hot_lean
def _rotate_row(R_i: Vector, new: Matrix, first: int, which: Counts, cos: Vector, sin: Vector) -> None:
    """Apply a column's rotations to the rest of row i; three at a time, to keep R_i in registers (four defeat the vectoriser)."""
    a = 0
    while a + 3 <= which.size:
        n0, n1, n2 = new[which[a], first:], new[which[a + 1], first:], new[which[a + 2], first:]
        c0, c1, c2 = cos[a], cos[a + 1], cos[a + 2]
        s0, s1, s2 = sin[a], sin[a + 1], sin[a + 2]
        for j in range(R_i.size):
            x = R_i[j]
            y0, y1, y2 = n0[j], n1[j], n2[j]
            n0[j] = c0 * y0 - s0 * x
            x = c0 * x + s0 * y0
            n1[j] = c1 * y1 - s1 * x
            x = c1 * x + s1 * y1
            n2[j] = c2 * y2 - s2 * x
            R_i[j] = c2 * x + s2 * y2
        a += 3
    while a < which.size:
        n0, c0, s0 = new[which[a], first:], cos[a], sin[a]
        for j in range(R_i.size):
            x, y0 = R_i[j], n0[j]
            n0[j] = c0 * y0 - s0 * x
            R_i[j] = c0 * x + s0 * y0
        a += 1


def solve_row_twin(R: Matrix, v: Vector) -> None:
    for i in range(v.size):
        v[i] /= R[i, i]
        v[i + 1 :] -= v[i] * R[i, i + 1 : v.size]


@compiled_or(solve_row_twin)
def solve_row(R: Matrix, v: Vector) -> None:
    """v ← R⁻ᵀv with the leading block of R, as large as v. Four rows of R at a time, so that v is read and written a quarter as
    often."""
    r = v.size
    i = 0
    while i + 4 <= r:
        for k in range(i, i + 4):
            for j in range(i, k):
                v[k] -= v[j] * R[j, k]
            v[k] /= R[k, k]
        z0, z1, z2, z3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        R0, R1, R2, R3, rest = R[i, i + 4 :], R[i + 1, i + 4 :], R[i + 2, i + 4 :], R[i + 3, i + 4 :], v[i + 4 :]
        for j in range(rest.size):
            rest[j] -= z0 * R0[j] + z1 * R1[j] + z2 * R2[j] + z3 * R3[j]
        i += 4
    for k in range(i, r):
        for j in range(i, k):
            v[k] -= v[j] * R[j, k]
        v[k] /= R[k, k]


@hot
def solve_upper(R: Matrix, v: Vector) -> None:
    """v ← R⁻¹v."""
    for k in range(v.size):
        i = v.size - 1 - k
        v[i] = (v[i] - np.dot(R[i, i + 1 :], v[i + 1 :])) / R[i, i]


def stretch_row_twin(R_i: Vector, sums: Vector, t: float, u: float, z: float) -> None:
    old = R_i.copy()
    R_i[:] = t * old + u * sums
    sums += z * old


@compiled_or(stretch_row_twin)
def _stretch_row(R_i: Vector, sums: Vector, t: float, u: float, z: float) -> None:
    for j in range(R_i.size):
        x = R_i[j]
        R_i[j] = t * x + u * sums[j]
        sums[j] += z * x


def stretch_rows_twin(R_i: Vector, R_j: Vector, sums: Vector, T_i: Terms, T_j: Terms) -> None:
    stretch_row_twin(R_i, sums, *T_i)
    stretch_row_twin(R_j, sums, *T_j)


@compiled_or(stretch_rows_twin)
def _stretch_rows(R_i: Vector, R_j: Vector, sums: Vector, T_i: Terms, T_j: Terms) -> None:
    """`_stretch_row` of two rows, one after the other: the sums are read and written once."""
    ti, ui, zi = T_i
    tj, uj, zj = T_j
    for k in range(R_i.size):
        x, y, total = R_i[k], R_j[k], sums[k]
        R_i[k] = ti * x + ui * total
        total += zi * x
        R_j[k] = tj * y + uj * total
        sums[k] = total + zj * y


@hot
def workspace(r: int) -> Matrix:
    """What `stretch` needs besides: taken once for many rows, since for a few coordinates it would cost as much as the work."""
    return np.empty((4, r + 1))


@hot_inline
def stretch(R: Matrix, c: Matrix, z: Vector, work: Matrix) -> None:
    """A ← A + v vᵀ for v = Rᵀz, while θ = R⁻¹c stays as it is: R ← T R and c ← T c, where TᵀT = I + z zᵀ.

    T_ii = √(σ_i/σ_{i-1}) and T_ij = z_i z_j/√(σ_i σ_{i-1}) for j > i, with σ_i = 1 + z_0² + … + z_i². So row i of T R needs,
    besides row i of R, only Σ_{k>i} z_k R_k, which is summed from below. Nothing is subtracted. `work` is of `workspace(r)`. Where
    z is shorter than R, this happens to the leading block alone.
    """
    _stretch_matrix(R, z, work)
    stretched, share = work[1], work[2]
    for o in range(c.shape[0]):
        total = 0.0
        for k in range(z.size):
            i = z.size - 1 - k
            x = c[o, i]
            c[o, i] = stretched[i] * x + share[i] * total
            total += z[i] * x


@hot_inline
def _stretch_matrix(R: Matrix, z: Vector, work: Matrix) -> None:
    """R ← T R. What c needs of T is left behind: work[1] and work[2] hold T_ii and T_ij/z_j."""
    r = z.size
    root, stretched, share, below = work[0], work[1], work[2], work[3]
    root[0] = 1.0
    for i in range(r):
        below[i] = 0.0
        root[i + 1] = root[i] + z[i] * z[i]
    for i in range(r + 1):  # apart from the sum, so that roots and divisions use vector registers
        root[i] = np.sqrt(root[i])
    for i in range(r):
        stretched[i] = root[i + 1] / root[i]
        share[i] = z[i] / (root[i + 1] * root[i])
    i = r - 1
    while i > 0:
        above = (stretched[i - 1], share[i - 1], z[i - 1])
        _stretch_rows(R[i, i - 1 : r], R[i - 1, i - 1 : r], below[i - 1 : r], (stretched[i], share[i], z[i]), above)
        i -= 2
    if i == 0:
        _stretch_row(R[0, :r], below[:r], stretched[0], share[0], z[0])


@hot
def newton(R: Matrix, c: Matrix, z: Vector, shift: float, slope: float, eta: float, work: Matrix) -> None:
    """One Newton step in the direction v = Rᵀz: θ ← θ − shift A⁻¹v, then A ← A + η g² v vᵀ, then θ ← θ − g A⁻¹v, g the slope.

    z is used up.
    """
    gain = eta * slope * slope
    step = shift + slope / (1.0 + gain * np.dot(z, z))
    for i in range(z.size):
        c[0, i] -= step * z[i]
    if gain > 0.0:
        root = np.sqrt(gain)
        for i in range(z.size):
            z[i] *= root
        stretch(R, c, z, work)


@hot
def learn_solved(R: Matrix, c: Matrix, z: Vector, y: Vector, work: Matrix) -> None:
    """Learn the row v = Rᵀz with labels y, for a caller that has z = R⁻ᵀv already, from scoring: θ ← θ + A⁻¹v (y − m)/(1 + s)."""
    _stretch_matrix(R, z, work)
    _learn_labels(c, z, y, work[1], work[2])


@hot_inline
def _learn_labels(c: Matrix, z: Vector, y: Vector, stretched: Vector, share: Vector) -> None:
    """c ← T(c + z (y − m)/(1 + s)), which is T_ii c_i + T_ij/z_j (y − z_0 c_0 − … − z_i c_i) in entry i.

    Four outputs side by side, since each difference waits for the one before it. The last output fills the places that are left.
    """
    last = y.size - 1
    for o in range(0, y.size, 4):
        o1, o2, o3 = min(o + 1, last), min(o + 2, last), min(o + 3, last)
        c0, c1, c2, c3 = c[o], c[o1], c[o2], c[o3]
        left0, left1, left2, left3 = y[o], y[o1], y[o2], y[o3]
        for i in range(z.size):
            t, u, z_i = stretched[i], share[i], z[i]
            x0, x1, x2, x3 = c0[i], c1[i], c2[i], c3[i]
            left0 -= z_i * x0
            left1 -= z_i * x1
            left2 -= z_i * x2
            left3 -= z_i * x3
            c0[i], c1[i], c2[i], c3[i] = t * x0 + u * left0, t * x1 + u * left1, t * x2 + u * left2, t * x3 + u * left3


def border(R: Matrix, c: Matrix, column: Vector, corner: float, target: Vector, floor: float) -> tuple[Matrix, Matrix, bool]:
    """R and c after A has become [[A, column], [columnᵀ, corner]] and b is (b, target); and whether they kept their digits."""
    r = len(R)
    wider, longer = np.zeros((r + 1, r + 1)), np.empty((len(c), r + 1))
    wider[:r, :r], wider[:r, r], wider[r, r] = R, column, corner
    longer[:, :r], longer[:, r] = c, target
    return wider, longer, take_in(wider, longer, r, floor)


def take_in(R: Matrix, c: Matrix, r: int, floor: float) -> bool:
    """Where the leading r columns are those of a factor, and column r of R and c still that of A and b, it becomes the factor's.

    The new pivot² is the corner − ‖R⁻ᵀcolumn‖², which is at least the ridge, `floor`, but for rounding. Where little is left of the
    corner, little is left of its digits. Returns whether they were kept.
    """
    corner, v = float(R[r, r]), R[:r, r].copy()
    solve_row(R, v)
    square = corner - float(v @ v)
    R[:r, r], R[r, r] = v, np.sqrt(max(square, floor))
    c[:, r] = (c[:, r] - c[:, :r] @ v) / R[r, r]
    return square >= SMALLEST_REMAINDER * corner


def check_factor(R: Matrix, c: Matrix, size: int, ridge: float) -> None:
    """Refuse an R and c that no rows can have made: A = RᵀR is at least the ridge."""
    if R.shape != (size, size) or c.shape[1] != size or np.any(np.diag(R) < np.sqrt(ridge) * (1.0 - 1e-6)):
        raise InputError("its matrix does not belong to its features and its ridge")
    if np.any(np.tril(R, -1)) or max(np.abs(R).max(initial=0.0), np.abs(c).max(initial=0.0)) > LARGEST_ENTRY:
        raise InputError("its matrix is not a triangle that rows can have made")


@hot
def predict(
    R: Matrix, c: Matrix, scale: float, rows: int, V: Matrix, awv: bool, lam: float, forgetting: float, scores: Matrix
) -> None:
    """The score each row of V would get if it came next. With fewer columns than R: by the leading features alone."""
    r, outputs = R.shape[0], c.shape[0]
    if forgetting < 1.0:
        R, c = R.copy(), c.copy()
        if scale < SMALLEST_SCALE and rows % ROUNDS == 0:
            fold(R, c, scale, r)
            scale = 1.0
        scale *= np.sqrt(forgetting)
        ridge = np.zeros((1, r))
        ridge[0, rows % r] = np.sqrt(lam * (1.0 - forgetting**r)) / scale
        start = np.full(1, rows % r)
        rotate(R, c, ridge, np.zeros((1, outputs)), start, np.empty((1, outputs)), np.empty(1))
    Z = V.copy()
    solve_upper_transposed(R, Z)
    gemm_nt(Z, np.ascontiguousarray(c[:, : V.shape[1]]), scores)
    if awv:
        for i in range(V.shape[0]):
            scores[i] /= 1.0 + np.dot(Z[i], Z[i]) / (scale * scale)
