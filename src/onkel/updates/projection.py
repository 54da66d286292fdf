"""Projection steps: the a of f ← f + a k(x, ·) that brings the row to its margin.

τ = min(C, (1 − y f(x))₊ / k(x, x)),   a = τ y                            with C = ∞ it is the projection on {f : y f(x) ≥ 1}
"""

from __future__ import annotations

from onkel._jit import hot

LEAST_OWN = 1e-100  # of k(x, x); a step that divides by less could overflow


@hot
def passive_aggressive(score: float, y: float, own: float, aggressiveness: float) -> float:
    """τ y."""
    loss = max(1.0 - y * score, 0.0)
    return y * min(aggressiveness, loss / own) if own > 0.0 else 0.0
