"""The best fixed combination of experts in hindsight, from the products of their errors (`onkel.combine.account`).

    min θᵀEθ + ridge ‖θ‖² + tilt·θ    over weights θ that sum to 1

E is the matrix of these products, summed over the rows. θᵀEθ is the sum of squares of a combination; ridge and tilt come from a
bound (`onkel.measure.bounds.so_far`).
"""

from __future__ import annotations

import numpy as np

from onkel._types import Matrix, Vector


def best_combination(products: Matrix, ridge: float = 0.0, tilt: Vector | None = None) -> tuple[Vector, float]:
    """The weights θ, and the minimum that they reach. Only the lower triangle of the products is read.

    If several θ reach the minimum up to rounding, the shortest is taken.
    """
    count = len(products)
    linear = np.zeros(count) if tilt is None else tilt
    E = np.tril(products) + np.tril(products, -1).T + ridge * np.eye(count)
    mean = np.full(count, 1.0 / count)
    along = np.linalg.qr(np.column_stack([mean, np.eye(count)[:, 1:]]))[0][:, 1:]  # directions that keep Σ θ
    theta = mean - along @ np.linalg.lstsq(along.T @ E @ along, along.T @ (E @ mean + 0.5 * linear), rcond=None)[0]
    return theta, float(theta @ E @ theta + linear @ theta)
