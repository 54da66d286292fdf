"""Regret against the number of points m: with a dictionary chosen as the rows come (Corollary 7), and with one that is chosen from
all inputs before the first row (Corollary 8).

x is uniform on [0, 1), and the kernel is a periodic spline, whose eigenvalues fall like j^(−1/γ): γ = ½ at order 1, ¼ at order 2.
Labels are those of a function whose Fourier coefficients fall just fast enough for it to lie in the kernel's space, with noise,
clipped to [−1, 1]. λ = n^(γ/(1+γ)), as both corollaries choose it if m is large. KORS has ε = ½ and β = 1, and μ is varied. The
regret is Σ(y − ŷ)² − min_f [Σ(y − f(x))² + λ‖f‖²], with f in the whole space of the kernel. A mark is one seed and one μ;
lines are the means over the seeds, at the mean number of points. The dotted line is the exact `KernelAWV`, the dashed lines are the
rates of the corollaries, n m^(½ − 1/(2γ)) and n m^(−1/(2γ)), through the first mean of each kind. Writes points.png, points.json
and points.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import onkel
from onkel.measure import bounds, effective_dimension, regret
from papers.plots import BLACK, BLUE, RED, key, panels, save
from papers.results import keep, kept, publish, spread

Array = NDArray[np.float64]

ROWS, SEEDS = 2000, 10
CAPACITIES = {1: 0.5, 2: 0.25}  # order of the spline -> γ
RIDGES = [300.0, 200.0, 100.0, 60.0, 30.0, 20.0, 10.0, 5.0, 3.0, 1.0, 0.3]  # μ of KORS
WAVES = 200  # of the target
ONLINE, BEFORE = "chosen as the rows come (Corollary 7)", "chosen beforehand (Corollary 8)"
COLOURS = {ONLINE: RED, BEFORE: BLUE}


def stream(order: int, rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([order, seed])
    X, j = rng.random((rows, 1)), np.arange(1, WAVES + 1)
    phases, sizes = rng.uniform(0.0, 2.0 * np.pi, WAVES), j ** -(order + 0.6)
    f = 0.5 * np.cos(2.0 * np.pi * X * j + phases) @ sizes
    return X, np.clip(f + rng.normal(0.0, 0.3, rows), -1.0, 1.0)


def measured(quick: bool = False) -> dict[str, Any]:
    rows, seeds, ridges = (300, 2, RIDGES[::3]) if quick else (ROWS, SEEDS, RIDGES)
    found: dict[str, Any] = {}
    for order, gamma in CAPACITIES.items():
        kernel, lam = onkel.PeriodicSpline((0.0, 1.0), order), rows ** (gamma / (1.0 + gamma))
        exact, runs = [], []
        dimension = []
        for seed in track(range(seeds), f"order {order}", console=Console(stderr=True)):
            X, y = stream(order, rows, seed)
            exact.append(regret(onkel.KernelAWV(kernel, lam), X, y).total)
            dimension.append(effective_dimension(kernel, X, lam))
            for mu in ridges:
                kors = onkel.Kors(mu=mu)
                learner = onkel.PKAWVNystroem(kernel, lam, kors, seed=seed)
                state = learner.init(1)
                online = regret(learner.learn(state, X, y), X, y, kernel, lam).total
                points = kors.choose(kernel, X, seed=seed)
                before = regret(scores_in(points, X, y, kernel, lam), X, y, kernel, lam).total
                runs.append({"mu": mu, "points": len(state.inner.span.points), ONLINE: online, BEFORE: before})
        found[str(order)] = {"rows": rows, "lam": lam, "exact": exact, "dimension": dimension, "runs": runs}
    return found


def scores_in(points: Array, X: Array, y: Array, kernel: Any, lam: float) -> Array:
    """The scores in the span of points that are known beforehand; 0 if KORS took none."""
    if not len(points):
        return np.zeros(len(y))
    learner = onkel.PKAWV(onkel.Nystroem(kernel, points), lam)
    return np.asarray(learner.learn(learner.init(1), X, y))


def means(runs: list[dict[str, Any]], name: str) -> tuple[Array, Array]:
    """The mean number of points, and the mean regret, for each μ."""
    each = [[run for run in runs if run["mu"] == mu] for mu in sorted({run["mu"] for run in runs}, reverse=True)]
    return tuple(np.array([np.mean([run[part] for run in at]) for at in each]) for part in ("points", name))  # type: ignore[return-value]


def table(found: dict[str, Any]) -> Iterator[str]:
    for order, of in found.items():
        gamma = CAPACITIES[int(order)]
        yield f"| γ = {gamma:g}, {of['rows']:,} rows, λ = {of['lam']:.1f} | points | {ONLINE} | {BEFORE} |"
        yield "|---|--:|--:|--:|"
        for mu in sorted({run["mu"] for run in of["runs"]}, reverse=True):
            runs = [run for run in of["runs"] if run["mu"] == mu]
            cells = [spread([run["points"] for run in runs]), *(spread([run[name] for run in runs], ",.1f") for name in COLOURS)]
            yield f"| μ = {mu:g} | " + " | ".join(cells) + " |"
        yield f"| *KernelAWV* | {of['rows']:,} | {spread(of['exact'], ',.1f')} | |"
        yield ""
        assumed = (of["rows"] / of["lam"]) ** gamma
        yield f"- γ = {gamma:g}: d_eff(λ) is {np.mean(of['dimension']):.1f}, and (n/λ)^γ is {assumed:.1f}."
        for name, rate in ((ONLINE, bounds.growing_span_rate), (BEFORE, bounds.known_inputs_rate)):
            points, lost = means(of["runs"], name)
            falls = lost > 1.5 * np.mean(of["exact"])  # before it is that of the exact learner
            if np.sum(falls) >= 2:
                slope = np.polyfit(np.log(points[falls]), np.log(lost[falls]), 1)[0]
                told = np.log(rate(1e9, 4.0, gamma) / rate(1e9, 2.0, gamma)) / np.log(2.0)
                where = "where it is more than 1.5 times that of KernelAWV"
                yield f"- γ = {gamma:g}, {name}: {where}, the regret falls like m^{slope:.1f}; the rate is m^{told:.1f}."
        yield ""


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, len(found), 11.0, 4.8)
    for one, (order, of) in zip(axes[0], found.items(), strict=True):
        gamma = CAPACITIES[int(order)]
        for name, colour in COLOURS.items():
            one.plot(
                [run["points"] for run in of["runs"]],
                [run[name] for run in of["runs"]],
                "o",
                color=colour,
                alpha=0.35,
                markersize=4,
            )
            points, lost = means(of["runs"], name)
            one.plot(points, lost, color=colour, linewidth=1.8)
            power = 0.5 - 0.5 / gamma if name == ONLINE else -0.5 / gamma
            one.plot(points, lost[0] * (points / points[0]) ** power, "--", color=colour, linewidth=1.0)
        one.axhline(np.mean(of["exact"]), color=BLACK, linestyle=":", linewidth=1.4)
        low = 0.5 * min(np.mean(of["exact"]), *(run[name] for run in of["runs"] for name in COLOURS))
        one.set(xscale="log", yscale="log", xlabel="points m", ylabel=f"regret after {of['rows']:,} rows", ylim=(low, None))
        one.set_title(f"γ = {gamma:g}", loc="left")
    keys = [key(name, colour) for name, colour in COLOURS.items()]
    keys += [key("the corollary's rate", "0.4", "--", 1.0), key("KernelAWV", BLACK, ":", 1.4)]
    save(figure, path, keys, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw points.json again")
    parser.add_argument("--quick", action="store_true", help="few rows and points; print the table, write nothing")
    options = parser.parse_args()
    here = Path(__file__)
    if options.quick:
        print("\n".join(table(measured(quick=True))))
        return
    if not options.draw:
        keep(here, measured())
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, table(found))


if __name__ == "__main__":
    main()
