"""How often confidence bands contain the curve, and how wide they are: python bench/bands.py [--check] [--streams 200]

Four curves, noise of one size and noise that grows with x, streams of 100, 1,000 and 10,000 rows; nominal 95 %. For each of these
cells the table has

    inside      the share of places where the band for each place by itself contains the curve, and that of the worst tenth of
                the domain
    everywhere  the share of streams in which the other band contains the whole curve
    width       the mean width, divided by that of the band that only an oracle knows: it has the number of functions with the
                smallest error of all, and the true size of the noise

The band depends on the rows alone, not on how the predictions use them. So it is measured for levels that grow, which is faster.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from timing import Verdicts

import onkel

Array = NDArray[np.float64]

ROWS, STREAMS, PLACES, TENTHS = (100, 1_000, 10_000), 200, 200, 10
CURVES = {
    "sine and line": lambda x: np.sin(2.0 * np.pi * x) + x,
    "example 2": lambda x: (6.0 * x - 3.0) * np.sin(12.0 * x - 6.0) + np.cos(12.0 * x - 6.0) ** 2,
    "steep edge": lambda x: np.tanh(25.0 * (x - 0.6)),
    "chirp": lambda x: np.sin(9.0 * x**2),
}
NOISES = {"constant": lambda x: 0.5 + 0.0 * x, "growing": lambda x: 0.1 + 0.8 * x}
SYSTEM = onkel.Cosine(domain=(0.0, 1.0))
LEARNER = onkel.MercerProjection(SYSTEM, rate=0.2, smoothness=2.0)
GRID = (np.arange(PLACES) + 0.5) / PLACES


def stream(curve: Any, noise: Any, rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.random(rows)
    return x[:, None], curve(x) + noise(x) * rng.normal(size=rows)


def oracle(curve: Any, noise: Any, rows: int, streams: int = 20) -> float:
    """The mean width of the band with the best number of functions and the known noise."""
    most = min(LEARNER.count, rows // 2)
    errors, widths = np.zeros(most), np.zeros(most)
    for seed in range(streams):
        X, y = stream(curve, noise, rows, 10**6 + seed)
        Psi, at = SYSTEM.functions(X, most), SYSTEM.functions(GRID[:, None], most)
        Q, R = np.linalg.qr(Psi)
        Z = np.linalg.solve(R.T, at.T).T  # the curve is Z Qᵀy, and its first N terms are the fit with N functions
        errors += np.mean((np.cumsum(Z * (Q.T @ y), axis=1) - curve(GRID)[:, None]) ** 2, axis=0)
        spread = (Q * noise(X)).T @ (Q * noise(X))
        for N in range(1, most + 1):
            variance = np.sum((Z[:, :N] @ spread[:N, :N]) * Z[:, :N], axis=1)
            widths[N - 1] += np.mean(2.0 * 1.96 * np.sqrt(variance)) / streams
    return float(widths[np.argmin(errors)])


def cell(curve: Any, noise: Any, rows: int, streams: int) -> tuple[Array, float, float]:
    """The share inside at each place, the share of streams inside everywhere, and the mean width."""
    inside, everywhere, width = np.zeros(PLACES), 0, 0.0
    for seed in range(streams):
        state = LEARNER.init(1)
        LEARNER.learn(state, *stream(curve, noise, rows, seed))
        low, high = LEARNER.band(state, GRID[:, None])
        lowest, highest = LEARNER.band(state, GRID[:, None], everywhere=True)
        inside += (low <= curve(GRID)) & (curve(GRID) <= high)
        everywhere += bool(np.all((lowest <= curve(GRID)) & (curve(GRID) <= highest)))
        width += float(np.mean(high - low))
    return inside / streams, everywhere / streams, width / streams


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a stated figure is missed")
    parser.add_argument("--streams", type=int, default=STREAMS)
    given = parser.parse_args()
    table = Table("curve", "noise", "rows", "inside", "worst tenth", "everywhere", "width")
    cells, tenths, everywhere, widths = [], [1.0], [], []
    for name, curve in CURVES.items():
        for size, noise in NOISES.items():
            for rows in ROWS:
                inside, whole, width = cell(curve, noise, rows, given.streams)
                worst, ratio = float(inside.reshape(TENTHS, -1).mean(axis=1).min()), width / oracle(curve, noise, rows)
                figures = (f"{inside.mean():.1%}", f"{worst:.1%}", f"{whole:.1%}", f"{ratio:.2f}")
                table.add_row(name, size, f"{rows:,}", *figures)
                cells.append(inside.mean())
                everywhere.append(whole)
                widths.append(ratio)
                tenths += [worst] if rows >= 1_000 else []
    Console().print(table)
    verdicts = Verdicts()
    for what, value, least, most in (
        ("share inside, mean of the cells", np.mean(cells), 0.93, 0.98),
        ("share inside everywhere, mean of the cells", np.mean(everywhere), 0.93, 0.99),
    ):
        verdicts.at_least(what, float(value), least)
        verdicts.at_most(what, float(value), most)
    verdicts.at_least("share inside, the worst tenth from 1,000 rows on", min(tenths), 0.89)
    verdicts.at_most("width, mean of the cells", float(np.mean(widths)), 1.6)
    verdicts.show(given.check)


if __name__ == "__main__":
    main()
