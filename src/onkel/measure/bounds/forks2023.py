"""The sizes of FORKS for which its regret is O(log T), by Theorem 1 and Remark 1, and the error ε that remains.

FORKS: fast second-order online kernel learning using incremental sketching (2023), Theorem 1. s_m, s_p, k, d and ρ are the fields
`landmarks`, `sketch`, `rank`, `blocks` and `period`, B is `budget`. The theorem states orders: s_m = Ω(C k ln k), s_p = Ω(s_m
polylog(s_m/δ)/ε²), d = Θ(ln³ s_m), γ = s_m/s_p = O(ln T/√T), ρ = ⌊θ(T − B)⌋. Here every constant is taken as 1, and polylog as the
square of the logarithm. So these sizes grow as the theorem requires, but it is not known whether the theorem holds for them. They
are far larger than the sizes in the paper's own experiments.
"""

from __future__ import annotations

import math

from onkel.measure.regret import positive


def forks_sizes(
    rows: int, rank: int, budget: int, coherence: float = 1.0, accuracy: float = 0.5, failure: float = 0.1, share: float = 0.3
) -> dict[str, int]:
    """Sizes of FORKS for a stream of T rows: its fields `budget`, `buffer`, `rank`, `landmarks`, `sketch`, `blocks`, `period`.

    `coherence` is C ≥ 1, the coherence of the buffer's kernel matrix; `accuracy` and `failure` are ε₀ and δ₀; `share` is θ.

    >>> sizes = onkel.measure.bounds.forks_sizes(rows=10_000, rank=10, budget=100)
    >>> sizes
    {'budget': 100, 'buffer': 200, 'rank': 10, 'landmarks': 24, 'sketch': 2912, 'blocks': 32, 'period': 2970}
    >>> learner = onkel.FORKS(**sizes)
    """
    T, rank, budget = positive("rows", rows), int(positive("rank", rank)), int(positive("budget", budget))
    landmarks = max(rank, math.ceil(positive("coherence", coherence) * rank * math.log(rank))) if rank > 1 else 1
    blocks = max(1, round(math.log(landmarks) ** 3))
    preserving = landmarks * math.log(max(landmarks, 2) / positive("failure", failure)) ** 2 / positive("accuracy", accuracy) ** 2
    small_ratio = landmarks * math.sqrt(T) / math.log(max(T, 2.0))
    sketch = math.ceil(max(preserving, small_ratio, landmarks, rank) / blocks) * blocks
    period = max(1, math.floor(positive("share", share) * max(T - budget, 1.0)))
    buffer = max(2 * budget, landmarks)
    return {
        "budget": budget,
        "buffer": buffer,
        "rank": rank,
        "landmarks": landmarks,
        "sketch": sketch,
        "blocks": blocks,
        "period": period,
    }


def forks_error(ratio: float, rows: int, accuracy: float = 0.5, failures: tuple[float, float] = (0.1, 0.1)) -> float:
    """ε of Theorem 1: √ε = 2γ√(T/(δ₁δ₂)) + √(2γ/δ₂)(ε₀² + 2ε₀ + 2), γ = s_m/s_p the `ratio`; the regret contains √(1 + ε) √B/λ.

    T, ε₀ and δ₁, δ₂ are `rows`, `accuracy` and `failures`; B and λ are the paper's.

    >>> round(onkel.measure.bounds.forks_error(ratio=0.01, rows=10_000), 1)
    460.3
    """
    first, second = (positive("failures", failure) for failure in failures)
    gamma, e = positive("ratio", ratio), positive("accuracy", accuracy)
    root = 2.0 * gamma * math.sqrt(rows / (first * second)) + math.sqrt(2.0 * gamma / second) * (e * e + 2.0 * e + 2.0)
    return root * root
