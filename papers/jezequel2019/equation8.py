"""Equation (8): the regret bounds in m, μ and λ, as powers of n.

    PKAWV with KORS   λ + d_eff(λ) + nmμ/λ
    Sketched-KONS     λ + (n/m) d_eff(λ)
    PROS-N-KONS       m(λ + d_eff(λ)) + nμ/λ

With λ = n^l, m = n^a, d_eff(λ) = (n/λ)^γ and μ = n m^(-1/γ), each term is n to a power that is affine in (l, a). The regret is n^b,
where b is the largest of the powers, so the best l and a are found by linear programs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Terms = NDArray[np.float64]  # one row a term: the power of n, and what l and a add to it

TIE = 1e-9  # two powers of n this close are the same


def pkawv(gamma: float) -> Terms:
    return np.array([[0.0, 1.0, 0.0], [gamma, -gamma, 0.0], [2.0, -1.0, 1.0 - 1.0 / gamma]])


def sketched_kons(gamma: float) -> Terms:
    return np.array([[0.0, 1.0, 0.0], [1.0 + gamma, -gamma, -1.0]])


def pros_n_kons(gamma: float) -> Terms:
    return np.array([[0.0, 1.0, 1.0], [gamma, -gamma, 1.0], [2.0, -1.0, -1.0 / gamma]])


def best(terms: Terms, least: float = 0.0, most: float = 1.0) -> tuple[float, float]:
    """(b, a): the smallest power of the regret for least ≤ a ≤ most and 0 ≤ l ≤ 1, and the smallest a that reaches it."""
    powers = np.column_stack([terms[:, 1:], -np.ones(len(terms))])  # l·, a·, -b
    within = [(0.0, 1.0), (least, most), (None, None)]
    b = float(linprog([0.0, 0.0, 1.0], powers, -terms[:, 0], bounds=within).fun)
    within[2] = (None, b + TIE)
    a = float(linprog([0.0, 1.0, 0.0], powers, -terms[:, 0], bounds=within).fun)
    return b, a
