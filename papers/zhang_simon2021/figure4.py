"""Figure 4: an additive model of ten inputs, compared with a generalised additive model (GAM) of smoothing splines that is
refitted.

    f(x) = Σ_k sin(2π/(x_k + 0.1)^(k/20)) − sin(2π/0.1^(k/20)),  k = 1 … 10,    x uniform,    noise of variance 5

(A) Errors on 1,000 fresh rows, means over 5 streams (15 in the paper). The models are `AdditiveSystem` of `Beam`, the functions of
W₂, with the paper's constant; `AdditiveSystem` of `Legendre` polynomials, with a constant of 0.05 and with an N that follows the
data; and pyGAM's LinearGAM, 25 splines an input, whose smoothness has the least GCV (pyGAM's own score counts each degree of
freedom 1.4 times) among values on a ladder of factors √10. (B) Processor time of one stream up to n, with a fit at every row: for
the learners of (A), and for N = ⌊n^(1/(2α+1))⌋. The GAM is fitted at the checkpoints only: once with the smoothness known; on the
ladder; and by its own `gridsearch`. Needs pyGAM: pip install 'onkel[papers]'. Writes figure4.png, figure4.json and figure4.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save, ticks
from papers.results import main
from papers.zhang_simon2021 import rates
from papers.zhang_simon2021.examples import UNIT, Array, Example, normal
from papers.zhang_simon2021.rates import CHECKPOINTS, judged

INPUTS, SPLINES, STEP = 10, 25, float(np.sqrt(10.0))
REPETITIONS, TIMED = 5, 3  # streams
SMOOTHNESS = 2.0
FARTHEST, FASTEST = 1.1, 50.0
PAPER, POLYNOMIALS, FOLLOWING = "Beam, c = 0.2", "Legendre, c = 0.05", "Legendre, N follows the data"
SPLINED = "GAM, smoothness by GCV"
COLOURS = {PAPER: SKY, POLYNOMIALS: BLUE, FOLLOWING: RED, SPLINED: ORANGE}
GAM_TIMES = {"GAM, one fit": ":", "GAM, on the ladder": "--", "GAM, gridsearch": "-"}
ORDERS = {1: GREEN, 2: PINK, 3: "0.5"}


def doppler(X: Array) -> Array:
    powers = np.arange(1, INPUTS + 1) / 20.0
    curves = np.sin(2.0 * np.pi / (X + 0.1) ** powers) - np.sin(2.0 * np.pi / 0.1**powers)
    return np.asarray(np.sum(curves, axis=1))


ADDITIVE = Example(
    doppler,
    lambda rng, rows: rng.random((rows, INPUTS)),
    normal(np.sqrt(5.0)),
    onkel.AdditiveSystem(onkel.Beam(UNIT)),
    rate=0.2,
    smoothness=SMOOTHNESS,
)
POLYNOMIAL = onkel.AdditiveSystem(onkel.Legendre(domain=UNIT))


def growing(system: Any, rate: float, smoothness: float = SMOOTHNESS) -> onkel.MercerProjection:
    """A growing learner with exactly the number of levels that the stream needs."""
    levels = int((CHECKPOINTS[-1] / rate) ** (1.0 / (2.0 * smoothness + 1.0)) + 1e-9)
    return onkel.MercerProjection(system, count=levels, rate=rate, smoothness=smoothness)


LEARNERS = {
    PAPER: growing(ADDITIVE.system, ADDITIVE.rate),
    POLYNOMIALS: growing(POLYNOMIAL, 0.05),
    FOLLOWING: onkel.MercerProjection(POLYNOMIAL, count=20),
}


def gam(smoothness: float) -> Any:
    try:
        from pygam import LinearGAM
    except ImportError:
        raise SystemExit("Figure 4 compares with pyGAM, which is not installed: pip install 'onkel[papers]'") from None
    return LinearGAM(n_splines=SPLINES, lam=smoothness)


def by_gcv(X: Array, y: Array, smoothness: float) -> tuple[Any, float, float]:
    """The GAM with the least GCV among smoothnesses around this one, its smoothness, and the processor time of one fit."""
    fits: dict[int, tuple[float, Any, float]] = {}

    def score(step: int) -> float:
        if step not in fits:
            before = time.process_time()
            model = gam(smoothness * STEP**step).fit(X, y)
            scale, freedom = (float(model.statistics_[part]) for part in ("scale", "edof"))
            fits[step] = scale**2 / (1.0 - freedom / len(y)), model, time.process_time() - before
        return fits[step][0]

    at = 0
    while (better := min((at - 1, at, at + 1), key=score)) != at:
        at = better
    return fits[at][1], smoothness * STEP**at, fits[at][2]


def splined(example: Example, seed: int) -> dict[str, list[float]]:
    (X, y), fresh = example.stream(CHECKPOINTS[-1], seed), example.fresh(seed)
    found: dict[str, list[float]] = {"error": [], "seconds": [], "one": [], "freedom": []}
    smoothness = 100.0
    for n in CHECKPOINTS:
        before = time.process_time()
        model, smoothness, one = by_gcv(X[:n], y[:n], smoothness)
        found["seconds"].append(time.process_time() - before)
        found["one"].append(one)
        found["error"].append(example.error(model.predict(fresh), fresh))
        found["freedom"].append(float(model.statistics_["edof"]) / INPUTS)
    return found


def searched(seed: int) -> list[float]:
    """The time of pyGAM's own search at each checkpoint."""
    X, y = ADDITIVE.stream(CHECKPOINTS[-1], seed)
    taken = []
    for n in CHECKPOINTS:
        before = time.process_time()
        gam(1.0).gridsearch(X[:n], y[:n], progress=False)
        taken.append(time.process_time() - before)
    return taken


def seconds(learner: Any) -> list[float]:
    """Processor time up to each checkpoint, the least over TIMED streams."""
    totals = []
    for seed in range(TIMED):
        X, y = ADDITIVE.stream(CHECKPOINTS[-1], seed)
        state, taken = learner.init(INPUTS), [0.0]
        for start, end in zip((0, *CHECKPOINTS), CHECKPOINTS, strict=False):
            before = time.process_time()
            learner.learn(state, X[start:end], y[start:end])
            taken.append(taken[-1] + time.process_time() - before)
        totals.append(taken[1:])
    return [float(total) for total in np.min(totals, axis=0)]


def measured() -> dict[str, Any]:
    warnings.filterwarnings("ignore", module="pygam")
    gam(1.0)
    console = Console(stderr=True)
    found: dict[str, Any] = {"errors": {}, "seconds": {}}
    ways = {name: rates.learnt(learner) for name, learner in LEARNERS.items()} | {SPLINED: splined}
    for name in track(ways, description="errors", console=console):
        found["errors"][name] = [ways[name](ADDITIVE, seed) for seed in range(REPETITIONS)]
    timed = LEARNERS | {f"α = {order}": growing(POLYNOMIAL, 1.0, float(order)) for order in ORDERS}
    for name in track(timed, description="time", console=console):
        found["seconds"][name] = seconds(timed[name])
    fits = found["errors"][SPLINED]
    found["seconds"]["GAM, one fit"] = np.cumsum(np.min([fit["one"] for fit in fits], axis=0)).tolist()
    found["seconds"]["GAM, on the ladder"] = np.cumsum(np.min([fit["seconds"] for fit in fits], axis=0)).tolist()
    found["seconds"]["GAM, gridsearch"] = np.cumsum(searched(0)).tolist()
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    errors, taken = found["errors"], found["seconds"]
    yield from rates.table("ten inputs", errors)
    yield "| seconds of processor time up to n = | " + " | ".join(f"{n:,}" for n in CHECKPOINTS[::3]) + " |"
    yield "|---" + "|--:" * len(CHECKPOINTS[::3]) + "|"
    for name, each in taken.items():
        yield f"| {name} | " + " | ".join(f"{value:.2g}" for value in each[::3]) + " |"
    yield ""
    against = rates.mean(errors[SPLINED])
    for name in LEARNERS:
        over = rates.mean(errors[name]) / against
        worst, last = float(over.max()), float(over[-1])
        said = f"{name}: {last:.2f} times the error of the GAM at {CHECKPOINTS[-1]:,} rows, at most {worst:.2f} times"
        yield judged(f"{said} at any checkpoint; is it at most {FARTHEST} times everywhere?", worst <= FARTHEST)
    for name in LEARNERS:
        times = [f"{taken[way][-1] / taken[name][-1]:.0f} ({way.removeprefix('GAM, ')})" for way in GAM_TIMES]
        good = taken["GAM, gridsearch"][-1] / taken[name][-1] >= FASTEST
        said = f"{name}: fits at {len(CHECKPOINTS)} checkpoints take so many times as long as our rows: {', '.join(times)}"
        yield judged(f"{said}; is it at least {FASTEST:g} times with a search?", good)


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, 2, 10.6, 5.6)
    left, right = axes[0]
    n = np.array(CHECKPOINTS)
    for name, paths in found["errors"].items():
        left.plot(n, rates.mean(paths), color=COLOURS[name], linewidth=1.8)
    start = 0.6 * rates.mean(found["errors"][SPLINED])[0]
    left.plot(n, start * (n / n[0]) ** -0.8, color=BLACK, linewidth=1.2)
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel=rates.ERROR, xlim=(n[0], n[-1]))
    left.set_title("(A) error", loc="left")
    for name, each in found["seconds"].items():
        if name in GAM_TIMES:
            right.plot(n, each, GAM_TIMES[name], color=ORANGE, linewidth=1.8)
        else:
            order = int(name[-1]) if name.startswith("α") else 0
            right.plot(n, each, "--" if order else "-", color=ORDERS[order] if order else COLOURS[name], linewidth=1.8)
    right.set(xscale="log", yscale="log", xlabel="rows n", ylabel="processor time up to n (s)", xlim=(n[0], n[-1]))
    right.set_title("(B) time", loc="left")
    ticks(right.yaxis, [0.01, 0.1, 1.0, 10.0, 100.0], "g")
    handles = [key(name, COLOURS[name]) for name in COLOURS] + [key("slope −4/5", BLACK, "-", 1.2)]
    handles += [key(name, ORANGE, dashes) for name, dashes in GAM_TIMES.items() if dashes != "-"]
    handles += [key("GAM, its own gridsearch", ORANGE)] + [
        key(f"N = n^(1/{2 * a + 1})", colour, "--") for a, colour in ORDERS.items()
    ]
    save(figure, path, handles, 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
