"""Gram matrices from O(N) sums over the rows, for systems in which a product of two functions is a sum of functions of one kind.

Sine       2 sin((2j−1)a) sin((2k−1)a) = cos(2(j−k)a) − cos(2(j+k−1)a),  a = πx/2        Σ cos(mπx),  m < 2N
Cosine     2 cos ja cos ka = cos(j−k)a + cos(j+k)a,  a = πx                              Σ cos(mπx),  m < 2N
Periodic   the same with sin j sin k, and 2 sin ja cos ka = sin(j+k)a + sin(j−k)a        Σ cos(2πmx), Σ sin(2πmx),  m ≤ N + 1
Legendre   P_j P_k = Σ c_m P_m,  m ≤ j + k, all c ≥ 0                                    Σ P_m,  m < 2N
Haar       the broader has one value wherever the finer is not 0                         rows in each dyadic cell
"""

from itertools import product
from math import ceil, pi, sqrt
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import eval_legendre

from onkel import Haar
from tests.oracle.mercer import function
from tests.oracle.systems import inside, name

Array = NDArray[np.float64]


def gram_from_moments(system: Any, x: Array, N: int) -> Array:
    """Σ_i ψ_j(x_i) ψ_k(x_i) from O(N) sums over the rows."""
    x = inside(system, x)
    G = np.empty((N, N))
    match name(system):
        case "Sine":
            C = [float(np.sum(np.cos(m * pi * x))) for m in range(2 * N)]
            for j, k in product(range(1, N + 1), repeat=2):
                G[j - 1, k - 1] = C[abs(j - k)] - C[j + k - 1]
        case "Cosine":
            C = [float(np.sum(np.cos(m * pi * x))) for m in range(2 * N)]
            for j, k in product(range(N), repeat=2):
                G[j, k] = (C[abs(j - k)] + C[j + k]) / sqrt((1 + (j == 0)) * (1 + (k == 0)))
        case "Periodic" if not system.constant:
            C = [float(np.sum(np.cos(2 * pi * m * x))) for m in range(N + 2)]
            S = [float(np.sum(np.sin(2 * pi * m * x))) for m in range(N + 2)]
            for a, b in product(range(N), repeat=2):
                j, k = a // 2 + 1, b // 2 + 1
                if a % 2 != b % 2:
                    j, k = (j, k) if a % 2 else (k, j)  # sin j cos k
                    G[a, b] = S[j + k] + np.sign(j - k) * S[abs(j - k)]
                else:
                    G[a, b] = C[abs(j - k)] + (-1) ** (a % 2) * C[j + k]
        case "Legendre":
            M = [float(np.sum(eval_legendre(m, 2 * x - 1))) for m in range(2 * N)]
            unit = np.eye(N)
            for j, k in product(range(N), repeat=2):
                terms = legendre.legmul(unit[j], unit[k])
                G[j, k] = sqrt((2 * j + 1) * (2 * k + 1)) * sum(c * M[m] for m, c in enumerate(terms))
        case "Haar":
            depth = ceil(np.log2(max(N, 2)))
            counts = [np.bincount(np.minimum(x * 2**l, 2**l - 1).astype(int), minlength=2**l) for l in range(depth + 1)]
            for a, b in product(range(N), repeat=2):
                G[a, b] = haar_sum(min(a, b), max(a, b), counts)
        case _:
            raise TypeError(f"{system!r} has no moments here")
    return G


def haar_sum(a: int, b: int, counts: list[Any]) -> float:
    """Σ ψ_a ψ_b, a ≤ b, from the rows in each dyadic cell: the broader function has one value wherever the finer is not 0."""
    if b == 0:
        return float(counts[0][0])
    l, k = b.bit_length() - 1, b - 2 ** (b.bit_length() - 1)
    if a == b:
        return float(2**l * counts[l][k])
    height = sqrt(2**l) * float(counts[l + 1][2 * k] - counts[l + 1][2 * k + 1])
    return height * float(function(Haar(), np.array([(k + 0.5) / 2**l]), a)[0])
