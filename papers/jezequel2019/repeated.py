"""How many points KORS keeps if the same point comes again and again, against the number that Proposition 5 allows.

With one point, k(x, x) = 1 and μ = 1, KORS is a recursion of one number: q = 1/A, p = min(β (1 + ε) q/(1 + q), 1), and A grows by
1/p if the point joins. β is the one printed in Proposition 5, 12 ln(n/δ), or that of the proof, 12 ln(4n²/δ), for ε = ½ and
δ = 0.05. Shown are the mean (smallest to largest) of 5 seeds. Writes repeated.json and repeated.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel.measure import bounds
from papers import results

ROWS, SEEDS, DELTA, MU = (10_000, 100_000, 1_000_000, 4_000_000), 5, 0.05, 1.0


def points(rows: int, beta: float, seed: int) -> int:
    draws, A, kept = np.random.default_rng(seed).random(rows).tolist(), MU, 0
    for draw in draws:
        q = 1.0 / A
        p = min(beta * 1.5 * q / (1.0 + q), 1.0)
        if draw < p:
            A, kept = A + 1.0 / p, kept + 1
    return kept


def measured(quick: bool = False) -> list[dict[str, Any]]:
    found = []
    for rows in ROWS[:1] if quick else ROWS:
        betas = {"printed": 12.0 * math.log(rows / DELTA), "proof": bounds.oversampling(rows, DELTA)}
        kept = {name: [points(rows, beta, seed) for seed in range(SEEDS)] for name, beta in betas.items()}
        allowed = 9.0 * rows / (rows + MU) * math.log(2.0 * rows / DELTA) ** 2
        online = float(np.sum(1.0 / (np.arange(1, rows + 1) + MU)))
        found.append({"rows": rows, "allowed": allowed, "proved": 9.0 * betas["proof"] * online, "kept": kept})
    return found


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "| n | Proposition 5 allows | points with the printed β | with the proof's β | 9β d_onl, the proof's β |"
    yield "|--:|--:|--:|--:|--:|"
    for of in found:
        kept = " | ".join(results.spread(of["kept"][name]) for name in ("printed", "proof"))
        yield f"| {of['rows']:,} | {of['allowed']:,.0f} | {kept} | {of['proved']:,.0f} |"


if __name__ == "__main__":
    results.main(__file__, measured, table)
