"""Projection steps f ← f + a k(x, ·), which move the score of the row towards its margin, y f(x) ≥ 1.

τ = min(C, (1 − y f(x))₊ / k(x, x)),   a = τ y                            for C = ∞ this is the projection onto {f : y f(x) ≥ 1}
"""

from __future__ import annotations

from onkel._jit import hot

LEAST_OWN = 1e-100  # the least k(x, x) that a step is divided by; division by less could overflow


@hot
def passive_aggressive(score: float, y: float, own: float, aggressiveness: float) -> float:
    """The step a = τ y, where `own` is k(x, x) and `aggressiveness` is C."""
    loss = max(1.0 - y * score, 0.0)
    return y * min(aggressiveness, loss / own) if own > 0.0 else 0.0
