"""How many points KORS keeps, compared with the effective dimension, and whether Theorem 2 and Corollary 1 hold.

The script uses 3000 rows, uniform on [−1, 1]², the Gaussian kernel with four widths, two ridges μ (α in the paper) and ε = ½. β is
1, or the theory's 3 ln(4T²/δ)/ε², δ = 0.05. The rows span few directions, so all is computed in orthonormal coordinates of their
span, with the random draws of `onkel.Kors`; for β = 1 the script asserts that it takes the same points as `Kors.choose`. In every
round it measures:

    τ̃/τ    the estimated over the true online leverage score      (3)  from 1 to ρ = (1 + ε)/(1 − ε)
    a, b     the largest a and smallest b with aA ⪯ A^I ⪯ bA         (1)  from 1 − ε to 1 + ε
    c        the largest c with c p_min A ⪯ Ã, the points taken counted once     (Corollary 1)  at least 1 − ε

A is the matrix of all rows, A^I its estimate from the points taken, with weights 1/p; Ã is the sum over these points without
weights.

a, b and c are measured after each round of LOOKS. The third panel continues to 30,000 rows, at width 1.2 and μ = 10, in the span of
the first 3000. Writes dictionary.png, dictionary.json and dictionary.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from rich.console import Console
from rich.progress import track
from scipy.linalg import eigh

import onkel
from onkel.measure import bounds, leverage_scores, spectral_bounds
from onkel.measure.regret import embed
from onkel.random import uniform
from papers.calandriello2017.contenders import DELTA, Array
from papers.plots import BLUE, RED, key, panels, save
from papers.results import keep, kept, publish, spread

ROWS, SEEDS = 3000, 5
WIDTHS, RIDGES = (0.3, 0.6, 1.2, 2.4), (1.0, 10.0)
EPSILON = 0.5
RHO = (1.0 + EPSILON) / (1.0 - EPSILON)
THEORY = bounds.oversampling(ROWS, DELTA, EPSILON)
MARKS = {1.0: ("o", "μ = 1"), 10.0: ("s", "μ = 10")}
LOOKS = [10, 30, 100, 300, 600, 1000, 2000, 3000]
COLOURS = {False: BLUE, True: RED}  # whether β is the theory's
LONG, LONG_WIDTH, LONG_RIDGE, LONG_POINTS = 30_000, 1.2, 10.0, 60
LONG_THEORY = bounds.oversampling(LONG, DELTA, EPSILON)


def inputs(seed: int, rows: int = ROWS) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (rows, 2))


class Visits:
    """φᵀA⁻¹φ, with A = μI + Σ wφφᵀ over the rows added so far. A⁻¹ is kept, and updated by Sherman and Morrison's formula."""

    def __init__(self, columns: int, ridge: float) -> None:
        self.inverse = np.eye(columns) / ridge

    def seen(self, z: Array) -> tuple[float, Array]:
        p = self.inverse @ z
        return float(z @ p), p

    def add(self, q: float, p: Array, weight: float) -> None:
        self.inverse -= np.outer(p, p) * (weight / (1.0 + weight * q))


def sample(Z: Array, dictionary: onkel.Kors, seed: int) -> tuple[Array, Array, Array]:
    """τ, τ̃ and p of every round; p has a minus sign if the point was not taken."""
    whole, part = Visits(Z.shape[1], dictionary.mu), Visits(Z.shape[1], dictionary.mu)
    tau, guess, chance = np.empty(len(Z)), np.empty(len(Z)), np.empty(len(Z))
    for t, z in enumerate(Z):
        q, p = whole.seen(z)
        whole.add(q, p, 1.0)
        tau[t] = q / (1.0 + q)
        q, p = part.seen(z)
        guess[t] = (1.0 + dictionary.accuracy) * q / (1.0 + q)
        chance[t] = min(dictionary.oversampling * guess[t], 1.0)
        if uniform(seed, t, 0) < chance[t]:
            part.add(q, p, 1.0 / chance[t])
        else:
            chance[t] *= -1.0
    return tau, guess, chance


def measure(width: float, mu: float, beta: float, seed: int) -> dict[str, float]:
    X, kernel = inputs(seed), onkel.Gaussian(width)
    span = onkel.Nystroem(kernel, X)
    Z, dictionary = embed(span, X), onkel.Kors(mu=mu, accuracy=EPSILON, oversampling=beta)
    tau, guess, chance = sample(Z, dictionary, seed)
    if beta == 1.0 and not np.array_equal(dictionary.choose(kernel, X, seed), X[chance > 0.0]):
        raise AssertionError("Kors.choose takes other points")
    low, high, once = math.inf, 0.0, math.inf
    for t in LOOKS:
        taken, p = chance[:t] > 0.0, np.abs(chance[:t])
        a, b = spectral_bounds(span, X[:t], mu, taken / p)
        low, high = min(low, a), max(high, b)
        once = min(once, spectral_bounds(span, X[:t], mu, taken.astype(float))[0] / float(p.min()))
    values = eigh(Z.T @ Z, eigvals_only=True)
    return {
        "points": int(np.sum(chance > 0.0)), "d_eff": float(np.sum(values / (values + mu))), "d_onl": float(np.sum(tau)),
        "least": float(np.min(guess / tau)), "most": float(np.max(guess / tau)), "a": low, "b": high, "c": once,
        "p_min": float(np.min(np.abs(chance))),
    }  # fmt: skip


def growth() -> dict[str, Any]:
    """Points and d_onl after t rows of a long stream."""
    X = inputs(0, LONG)
    Z = embed(onkel.Nystroem(onkel.Gaussian(LONG_WIDTH), X[:ROWS]), X)
    shown = np.unique(np.geomspace(10, LONG, LONG_POINTS).astype(int))
    found: dict[str, Any] = {"rows": shown.tolist(), "outside": float(1.0 - np.min(np.sum(Z**2, axis=1)))}
    for name, beta in (("β = 1", 1.0), ("theory", LONG_THEORY)):
        tau, _, chance = sample(Z, onkel.Kors(mu=LONG_RIDGE, accuracy=EPSILON, oversampling=beta), seed=0)
        found[name] = np.cumsum(chance > 0.0)[shown - 1].tolist()
        found["d_onl"] = np.cumsum(tau)[shown - 1].tolist()
    return found


def measured(seeds: int) -> list[dict[str, Any]]:
    found = []
    for width, mu in track([(w, m) for w in WIDTHS for m in RIDGES], console=Console(stderr=True)):
        X, kernel = inputs(0), onkel.Gaussian(width)
        theory = onkel.Kors(mu=mu, accuracy=EPSILON, oversampling=THEORY)
        online, effective = bounds.row_sampling(kernel, X, theory, DELTA)
        of_all = float(np.sum(leverage_scores(kernel, X, mu)))
        for beta in (1.0, THEORY):
            runs = [measure(width, mu, beta, seed) for seed in range(seeds)]
            if abs(runs[0]["d_eff"] / of_all - 1.0) > 1e-6:
                raise AssertionError("the leverage scores do not add up to the effective dimension")
            scale = beta / THEORY  # for β = 1 the theorem says nothing; its formula is shown for comparison
            found.append(
                {
                    "width": width,
                    "mu": mu,
                    "theory": beta > 1.0,
                    "online": scale * online,
                    "effective": scale * effective,
                    "runs": runs,
                }
            )
    return found


def table(found: list[dict[str, Any]], long: dict[str, Any]) -> Iterator[str]:
    for theory, name in ((False, "β = 1"), (True, f"the theory's β = {THEORY:.0f}")):
        allowed = "3ρβ d_onl | 3ρβ d_eff(1 + ln(1 + ‖K‖/μ))"
        yield f"| {name} | d_eff(μ) | d_onl(μ) | points | {allowed} | τ̃/τ, least | most | a, least | b, most | c, least |"
        yield "|---" + "|--:" * 10 + "|"
        for of in found:
            if of["theory"] != theory:
                continue
            column = {part: [run[part] for run in of["runs"]] for part in of["runs"][0]}
            cells = [f"{np.mean(column[part]):.1f}" for part in ("d_eff", "d_onl")]
            cells += [spread(column["points"]), f"{of['online']:,.0f}", f"{of['effective']:,.0f}"]
            cells += [
                f"{min(column['least']):.2f}",
                f"{max(column['most']):.2f}",
                f"{min(column['a']):.2f}",
                f"{max(column['b']):.2f}",
            ]
            yield f"| width {of['width']}, μ = {of['mu']:g} | " + " | ".join(cells) + f" | {min(column['c']):.2f} |"
        yield ""
    for theory, name in ((False, "β = 1"), (True, "the theory's β")):
        runs = [run for of in found if of["theory"] == theory for run in of["runs"]]
        kept = sum(run["a"] >= 1.0 - EPSILON and run["b"] <= 1.0 + EPSILON for run in runs)
        inside = sum(run["least"] >= 1.0 - 1e-9 and run["most"] <= RHO + 1e-9 for run in runs)
        once = sum(run["c"] >= 1.0 - EPSILON for run in runs)
        yield f"- With {name}, (1) holds in {kept} of {len(runs)} runs, (3) in {inside}, and Corollary 1 in {once}."
        over = [run["points"] / run["d_onl"] for run in runs]
        yield (
            f"- Points divided by d_onl(μ): {min(over):.2f} to {max(over):.2f}. Points divided by d_eff(μ): "
            + "{:.1f} to {:.1f}.".format(*(f([run["points"] / run["d_eff"] for run in runs]) for f in (min, max)))
        )
    yield (
        f"- Width {LONG_WIDTH}, μ = {LONG_RIDGE:g}, {LONG:,} rows: d_onl = {long['d_onl'][-1]:.1f}; "
        f"β = 1 keeps {long['β = 1'][-1]:,}, β = {LONG_THEORY:.0f} keeps {long['theory'][-1]:,}. "
        f"At most {long['outside']:.1g} of a row's k(x, x) lies outside the span."
    )


def draw(found: list[dict[str, Any]], long: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.8, 8.6)
    for one, part, bound in ((axes[0, 0], "d_eff", "effective"), (axes[0, 1], "d_onl", "online")):
        against(one, found, part, bound)
    axes[0, 0].set_title(f"{ROWS} rows", loc="left")
    axes[0, 1].set_title(f"{ROWS} rows", loc="left")
    axes[0, 0].set(xlabel="effective dimension d_eff(μ)", ylabel="points kept")
    axes[0, 1].set(xlabel="online effective dimension d_onl(μ)", ylabel="points kept")
    grow, accuracy = axes[1]
    for name, colour in (("β = 1", BLUE), ("theory", RED)):
        grow.plot(long["rows"], long[name], color=colour, linewidth=1.8)
    grow.plot(long["rows"], long["d_onl"], color="0.5", linewidth=1.2)
    grow.plot(long["rows"], long["rows"], "--", color="0.5", linewidth=1.2)
    grow.set(xscale="log", yscale="log", xlabel="rows", ylabel="points kept")
    grow.set_title(f"width {LONG_WIDTH}, μ = {LONG_RIDGE:g}", loc="left")
    accuracy.axhspan(1.0 - EPSILON, 1.0 + EPSILON, color="0.9")
    for of in found:
        x, runs = np.mean([run["d_onl"] for run in of["runs"]]), of["runs"]
        ends = [min(run["a"] for run in runs), max(run["b"] for run in runs)]
        accuracy.plot([x, x], ends, "_-", color=COLOURS[of["theory"]], linewidth=2.0, markersize=9)
    accuracy.set(
        xscale="log", yscale="log", xlabel="online effective dimension d_onl(μ)", ylabel="the sample's matrix over the whole"
    )
    accuracy.set_yticks([0.2, 0.5, 1.0, 1.5, 2.0, 4.0], ["0.2", "0.5", "1", "1.5", "2", "4"])
    accuracy.set_yticks([], minor=True)
    accuracy.set_title("Theorem 2 (1) promises the grey band", loc="left")
    for one in (axes[0, 1], accuracy):
        ticks(one, (10, 20, 50, 100, 200))
    ticks(axes[0, 0], (5, 10, 20, 50))
    keys = [key("β = 1", BLUE), key("the theory's β", RED)]
    keys += [Line2D([], [], color="0.2", linestyle="", marker=m, markerfacecolor="none", label=name) for m, name in MARKS.values()]
    keys += [
        key("Theorem 2 (2) allows", "0.2", ":"),
        key("the dimension itself", "0.5", "-", 1.2),
        key("all rows", "0.5", "--", 1.2),
    ]
    save(figure, path, keys, 4)


def against(one: Any, found: list[dict[str, Any]], part: str, bound: str) -> None:
    """Draw the points kept against a dimension, one mark for each run, and what the theorem allows."""
    for of in found:
        for run in of["runs"]:
            style = {"marker": MARKS[of["mu"]][0], "color": COLOURS[of["theory"]], "markerfacecolor": "none"}
            one.plot(run[part], run["points"], linestyle="", markersize=5, alpha=0.8, **style)
    for theory, colour in COLOURS.items():
        line = sorted((np.mean([run[part] for run in of["runs"]]), of[bound]) for of in found if of["theory"] == theory)
        one.plot(*zip(*line, strict=True), ":", color=colour, linewidth=1.8)
    ends = [f(np.mean([run[part] for run in of["runs"]]) for of in found) for f in (min, max)]
    one.plot(ends, ends, color="0.5", linewidth=1.2)
    one.axhline(ROWS, color="0.5", linewidth=1.2, linestyle="--")
    one.set(xscale="log", yscale="log")


def ticks(one: Any, at: tuple[int, ...]) -> None:
    one.set_xticks(at, [str(tick) for tick in at], minor=False)
    one.set_xticks([], minor=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="streams, and coins (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw dictionary.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, {"sizes": measured(options.seeds), "growth": growth()})
    found = kept(here)
    draw(found["sizes"], found["growth"], here.with_suffix(".png"))
    publish(here, table(found["sizes"], found["growth"]))


if __name__ == "__main__":
    main()
