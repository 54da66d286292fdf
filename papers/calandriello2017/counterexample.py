"""Section 6: every row is the same point, with labels C and −C in turn, the square loss, α = 1, η = σ = 1/(8C²) and C = 1.

With one point every learner is a recursion of two numbers, u = f(x) and A, so rounds are cheap. The script first runs onkel's KONS
and SketchedKONS for CHECKED rounds. It prints how far the recursion, with the same random draws, is from their scores and from the
R_G and R_D of `onkel.measure.newton_regret`. KONS and SketchedKONS are compared with:

    gradient descent      w ← w − g/(2t), clipped: (y − w)² is 2-strongly convex along φ, so this is the step of the theory, and w
                          is the mean of the labels. The paper's step 1/t is tried too.
    frequent directions   the online Newton step whose matrix is αI + SᵀS, S a sketch of one row (Luo et al. 2016; Ghashami et al.
                          2016), in five explicit features.

R_G = Σ g² φᵀA⁻¹φ and R_D = Σ (w − σg²)(ŷ − f)² are the two terms of the bound. w is what a round adds to A, and f is the best
function, Σy/(T + ½α), or 0. There are two more streams, which are not in the paper. On one the best constant answer is not the
learner's first score 0 (labels C and −C/2); on the other it moves (labels C and 0 in the first half, 0 and −C in the second). The
last panel has the paper's schedules of weights: the first round gets W − B, the next B rounds get 1, all others 0. Lines are means
over the seeds, bands reach from the smallest to the largest. γ = 0 stands for 1e-12. Writes counterexample.png, counterexample.json
and counterexample.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from rich.console import Console
from rich.progress import track

import onkel
from onkel.measure import newton_regret
from onkel.random import uniform
from papers.calandriello2017.contenders import Array
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save
from papers.results import keep, kept, publish, spread

C, ALPHA, ACCURACY, OVERSAMPLING = 1.0, 1.0, 0.5, 1.0
SIGMA = 1.0 / (8.0 * C**2)
NONE = 1e-12  # stands for γ = 0
ROUNDS, SEEDS, CHECKED = 100_000, 20, 1000
SHOWN = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
HORIZONS = [1000, 10_000, 100_000]
FEATURES = 5
FINE = ",.1f"
SCHEDULED, SMALL = 10_000, 10  # rounds and B of the schedules
Curves = dict[str, list[list[float]]]  # regret, R_G, R_D, R_D against 0, points: one list a seed, one number for each t shown


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    dashes: str
    floor: float | None = None  # γ; None: not a SketchedKONS
    weighted: bool = False


LINES = [
    Line("KONS", BLACK, "-", 1.0),
    Line("SketchedKONS, γ = 0.3", BLUE, "-", 0.3),
    Line("SketchedKONS, γ = 0.1", SKY, "-", 0.1),
    Line("SketchedKONS, γ = 0.03", GREEN, "-", 0.03),
    Line("SketchedKONS, γ = 0", PINK, "-", NONE),
    Line("weighted, γ = 0.1", RED, "--", 0.1, True),
    Line("weighted, γ = 0", RED, "-", NONE, True),
    Line("frequent directions, one row", BLACK, "o"),
    Line("gradient descent, 1/(2t)", ORANGE, "-"),
    Line("gradient descent, 1/t", ORANGE, "--"),
]
SKETCHES = [line for line in LINES if line.floor is not None]


def alternating(rounds: int) -> Array:
    """C in even rounds, −C in odd ones."""
    return np.where(np.arange(1, rounds + 1) % 2 == 0, C, -C)


def uneven(rounds: int) -> Array:
    """C in even rounds, −C/2 in odd ones: the best answer is C/4."""
    return np.where(np.arange(1, rounds + 1) % 2 == 0, C, -0.5 * C)


def moving(rounds: int) -> Array:
    """C and 0 in the first half, 0 and −C in the second: the best constant is C/2, then −C/2, and 0 for all rounds."""
    return alternating(rounds) * 0.5 + np.where(np.arange(rounds) < rounds // 2, 0.5 * C, -0.5 * C)


def best(labels: Array) -> Array:
    """argmin Σ(f − y)² + ½αf² of every prefix."""
    return np.asarray(np.cumsum(labels) / (np.arange(1, len(labels) + 1) + 0.5 * ALPHA))


def coins(rounds: int, seeds: int) -> Array:
    """The random numbers of SketchedKONS: one row for each round, one column for each seed."""
    return np.array([[uniform(seed, t, 0) for seed in range(seeds)] for t in range(rounds)])


class Ledger:
    """The regret and its parts R_G and R_D of several runs side by side, stored at the rounds that are shown."""

    def __init__(self, labels: Array, shown: list[int], runs: int) -> None:
        self.labels, self.shown, self.f = labels, set(shown), best(labels)
        self.sums = np.zeros((5, runs))  # loss, R_G, and Σ(w − σg²)ŷ^k for k = 0, 1, 2
        self.ours, self.taken = np.cumsum(labels), np.zeros(runs)
        self.squares = np.cumsum(labels**2)
        self.curves: list[list[Array]] = []

    def note(self, t: int, score: Array, g: Array, added: Array, A: Array) -> None:
        excess = added - SIGMA * g * g
        self.sums += ((score - self.labels[t]) ** 2, g * g / A, excess, excess * score, excess * score**2)
        self.taken += added > 0.0
        if t + 1 in self.shown:
            loss, gradients, zero, one, two = self.sums
            f = self.f[t]
            of_f = self.squares[t] - 2.0 * f * self.ours[t] + (t + 1) * f * f
            self.curves.append([loss - of_f, gradients.copy(), two - 2.0 * f * one + f * f * zero, two.copy(), self.taken.copy()])

    def read(self) -> Curves:
        names = ("regret", "R_G", "R_D", "R_D_zero", "points")
        return {name: [[float(at[i][s]) for at in self.curves] for s in range(len(self.taken))] for i, name in enumerate(names)}


def newton(labels: Array, shown: list[int], added: Callable[[int, Array], Array], runs: int) -> tuple[Curves, Array]:
    """The Newton step on one point; `added` gives what a round adds to A, from the round's number and σg². Returns the last scores
    too."""
    ledger, u, A, score = Ledger(labels, shown, runs), np.zeros(runs), np.full(runs, ALPHA), np.zeros(runs)
    for t, label in enumerate(labels):
        score = np.clip(u, -C, C)  # with one point, projecting f onto |f(x)| ≤ C is clipping
        g = 2.0 * (score - label)
        w = added(t, SIGMA * g * g)
        A += w
        ledger.note(t, score, g, w, A)
        u = score - g / A
    return ledger.read(), score


def sketch(floor: float, weighted: bool, tosses: Array) -> Callable[[int, Array], Array]:
    """What SketchedKONS adds to A. KORS on one point has a matrix of one number, B."""
    B = np.full(tosses.shape[1], ALPHA)

    def added(t: int, square: Array) -> Array:
        q = square / B
        p = np.maximum(np.minimum(OVERSAMPLING * (1.0 + ACCURACY) * q / (1.0 + q), 1.0), floor)
        taken = np.where(tosses[t] < p, square, 0.0)
        B[:] += taken / p
        return np.asarray(taken / p if weighted else taken)

    return added


def scheduled(weights: Array) -> Callable[[int, Array], Array]:
    return lambda t, square: weights[t] * square


def gradient_descent(labels: Array, shown: list[int], convexity: float) -> Curves:
    ledger, u = Ledger(labels, shown, 1), np.zeros(1)
    for t, label in enumerate(labels):
        g = 2.0 * (u - label)
        ledger.note(t, u, g, SIGMA * g * g, np.full(1, np.inf))  # R_G and R_D are not defined for gradient descent
        u = np.clip(u - g / (convexity * (t + 1)), -C, C)
    return {name: of for name, of in ledger.read().items() if name == "regret"}


def frequent_directions(labels: Array, shown: list[int]) -> Curves:
    """A = αI + SᵀS: after each round the smallest squared singular value of [S; √σ g φ] is subtracted from all of them, which
    removes a row."""
    phi = np.random.default_rng(0).standard_normal(FEATURES)
    phi /= math.sqrt(phi @ phi)
    S, u = np.zeros((1, FEATURES)), np.zeros(FEATURES)
    ledger = Ledger(labels, shown, 1)

    def inverse(S: Array, v: Array) -> Array:
        return np.asarray((v - S.T @ np.linalg.solve(ALPHA * np.eye(1) + S @ S.T, S @ v)) / ALPHA)

    for t, label in enumerate(labels):
        score = float(phi @ u)
        if abs(score) > C:
            towards = inverse(S, phi)
            u -= (score - math.copysign(C, score)) / float(phi @ towards) * towards
            score = math.copysign(C, score)
        g = 2.0 * (score - label)
        _, values, rows = np.linalg.svd(np.vstack([S, math.sqrt(SIGMA) * g * phi]), full_matrices=False)
        S = np.sqrt(np.maximum(values**2 - values[-1] ** 2, 0.0))[:1, None] * rows[:1]
        step = inverse(S, phi)
        ledger.note(t, *(np.array([v]) for v in (score, g, SIGMA * g * g, 1.0 / float(phi @ step))))
        u = u - g * step
    return ledger.read() | {"points": [[1.0] * len(shown)]}


def play(line: Line, labels: Array, shown: list[int], tosses: Array) -> Curves:
    if line.floor == 1.0:
        return newton(labels, shown, lambda t, square: square, 1)[0]
    if line.floor is not None:
        return newton(labels, shown, sketch(line.floor, line.weighted, tosses), tosses.shape[1])[0]
    if line.name.startswith("frequent"):
        return frequent_directions(labels, shown)
    return gradient_descent(labels, shown, 2.0 if line.name.endswith("(2t)") else 1.0)


def check() -> dict[str, float]:
    """How far the recursion is from onkel's learners, in their scores and in R_G and R_D."""
    labels, X = alternating(CHECKED), np.ones((CHECKED, 1))
    tosses, apart = coins(CHECKED, 1), {"scores": 0.0, "R_G": 0.0, "R_D": 0.0}
    f = onkel.measure.best_within(onkel.Linear(), X, labels, onkel.Square(), 0.5 * ALPHA, C)
    for line in SKETCHES:
        floor = line.floor or 1.0
        common: dict[str, Any] = {"kernel": onkel.Linear(), "alpha": ALPHA, "clip": C}
        learner: Any = onkel.KONS(**common)
        if floor < 1.0:
            learner = onkel.SketchedKONS(**common, floor=floor, weighted=line.weighted)
        added = sketch(floor, line.weighted, tosses) if floor < 1.0 else lambda t, square: square
        curves, score = newton(labels, [CHECKED], added, 1)
        theirs, parts = learner.learn(learner.init(1), X, labels), newton_regret(learner, X, labels, f)
        apart["scores"] = max(apart["scores"], abs(float(score[0]) - float(theirs[-1])))
        apart["R_G"] = max(apart["R_G"], abs(curves["R_G"][0][0] / parts.gradients - 1.0))
        apart["R_D"] = max(apart["R_D"], abs(curves["R_D"][0][0] - parts.drift))
    return apart


def schedules() -> list[dict[str, float]]:
    """For weights W − B, then B ones, then zeros: R_G and R_D in closed form for |g| = 2C, and in runs with these weights."""
    found = []
    T, B = SCHEDULED, SMALL
    for W in np.unique(np.geomspace(2 * B, T, 13).astype(int)):
        weights = np.zeros(T)
        weights[0], weights[1 : B + 1] = W - B, 1.0
        unit = SIGMA * 4.0 * C**2
        one = {"W": int(W), "R_G": float(np.sum(4.0 * C**2 / (ALPHA + unit * np.cumsum(weights)))), "R_D": float(W - B)}
        for name, labels in (("alternating", alternating(T)), ("uneven", uneven(T))):
            curves, _ = newton(labels, [T], scheduled(weights), 1)
            one |= {f"{part} {name}": curves[part][0][0] for part in ("regret", "R_G", "R_D")}
        found.append(one)
    return found


def heavy_start(T: int) -> dict[str, float]:
    """The schedule with W = T on the uneven labels, and KONS on the same labels."""
    weights = np.zeros(T)
    weights[0], weights[1 : SMALL + 1] = T - SMALL, 1.0
    curves, exact = newton(uneven(T), [T], scheduled(weights), 1)[0], newton(uneven(T), [T], lambda t, square: square, 1)[0]
    return {"T": T, "regret": curves["regret"][0][0], "R_D": curves["R_D"][0][0], "KONS": exact["regret"][0][0]}


def measured(seeds: int) -> dict[str, Any]:
    bar = Console(stderr=True)
    tosses = coins(ROUNDS, seeds)
    found: dict[str, Any] = {"check": check(), "schedules": schedules(), "heavy start": [heavy_start(T) for T in HORIZONS]}
    found["paper"] = {line.name: play(line, alternating(ROUNDS), SHOWN, tosses) for line in track(LINES, "C and −C", console=bar)}
    found["moving"] = {line.name: [] for line in SKETCHES}
    for line in track(SKETCHES, "the best answer moves", console=bar):
        found["moving"][line.name] = [play(line, moving(T), [T], tosses[:T]) for T in HORIZONS]
    return found


def tables(found: dict[str, Any]) -> Iterator[str]:
    apart = found["check"]
    yield f"After {CHECKED} rounds the recursion differs from onkel's learners by {apart['scores']:.1g} in the last score,"
    yield f"by {apart['R_G']:.1g} in R_G and by {apart['R_D']:.1g} in R_D.\n"
    for at, t in ((SHOWN.index(1000), 1000), (-1, ROUNDS)):
        yield f"| C and −C, {t:,} rounds | points | regret | over ln t | R_G | R_D against the best f | R_D against 0 |"
        yield "|---" + "|--:" * 6 + "|"
        for name, of in found["paper"].items():
            regret = [run[at] for run in of["regret"]]
            cells = [spread([run[at] for run in of["points"]]) if "points" in of else "", spread(regret, FINE)]
            cells.append(f"{np.mean(regret) / math.log(t):.1f}")
            cells += [spread([run[at] for run in of[part]], FINE) if part in of else "" for part in ("R_G", "R_D", "R_D_zero")]
            yield f"| {name} | " + " | ".join(cells) + " |"
        yield ""
    exact = found["paper"]["KONS"]
    norm = ALPHA * best(alternating(ROUNDS))[-1] ** 2
    allowed = 0.5 * (norm + exact["R_G"][0][-1] + exact["R_D"][0][-1])
    yield f"- KONS: the regret divided by the bound of Proposition 1 with its ½: {exact['regret'][0][-1] / allowed:.3f}."
    printed = float(np.sum(C**2 / (C**2 * SIGMA * np.arange(1, ROUNDS + 1) + ALPHA)))
    yield f"- KONS: R_G is {exact['R_G'][0][-1]:.1f}, and the paper's Σ C²/(C²σt + α) is {printed:.1f}."
    for name, of in found["paper"].items():
        over = [np.mean([run[at] for run in of["regret"]]) / exact["regret"][0][at] for at in (SHOWN.index(1000), -1)]
        yield f"- {name}: {over[0]:.2f} times the regret of KONS after 1,000 rounds, {over[1]:.2f} times after {ROUNDS:,}."
    yield ""
    yield "| the best answer moves | points | " + " | ".join(f"regret, T = {T:,} | R_D" for T in HORIZONS) + " |"
    yield "|---|--:" + "|--:" * (2 * len(HORIZONS)) + "|"
    for name, runs in found["moving"].items():
        cells = [spread([one[-1] for one in runs[-1]["points"]])]
        for of in runs:
            cells += [spread([one[-1] for one in of[part]]) for part in ("regret", "R_D")]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield (
        f"\n| w₁ = W − B, then {SMALL} ones, T = {SCHEDULED:,} | R_G, closed form | R_D as counted, W − B "
        "| labels C, −C: regret | R_G | R_D | labels C, −C/2: regret | R_G | R_D |"
    )
    yield "|--:" * 9 + "|"
    for one in found["schedules"]:
        cells = [f"{one['R_G']:,.1f}", f"{one['R_D']:,.0f}"]
        cells += [f"{one[f'{part} {name}']:,.1f}" for name in ("alternating", "uneven") for part in ("regret", "R_G", "R_D")]
        yield f"| W = {one['W']:,} | " + " | ".join(cells) + " |"
    yield ""
    for one in found["heavy start"]:
        yield (
            f"- Labels C, −C/2, W = T = {one['T']:,}: regret {one['regret']:,.1f} and R_D {one['R_D']:,.1f}; "
            f"KONS has regret {one['KONS']:.1f}."
        )


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(3, 2, 9.6, 11.6)
    shown = {"regret": axes[0, 0], "points": axes[0, 1], "R_G": axes[1, 0], "R_D": axes[1, 1]}
    for line in LINES:
        for part, one in shown.items():
            if part in found["paper"][line.name]:
                band(one, line, SHOWN, np.array(found["paper"][line.name][part]))
    for line in SKETCHES:
        band(axes[2, 0], line, HORIZONS, np.array([[r[-1] for r in of["R_D"]] for of in found["moving"][line.name]]).T)
    for part, title in (("regret", "regret"), ("points", "points in the matrix"), ("R_G", "R_G"), ("R_D", "R_D")):
        shown[part].set(xscale="log", xlim=(SHOWN[0], ROUNDS), xlabel="rounds t")
        shown[part].set_title(f"{title}: labels C and −C", loc="left")
        if part != "R_D":
            shown[part].set(yscale="log")
    shown["R_D"].set_yscale("symlog", linthresh=1.0)
    axes[2, 0].set_yscale("symlog", linthresh=10.0)
    axes[2, 0].set(xscale="log", xlabel="T")
    axes[2, 0].set_title("R_D: the best answer moves at T/2", loc="left")
    weigh(axes[2, 1], found["schedules"])
    keys = [key(line.name, line.colour, line.dashes) for line in LINES if line.dashes != "o"]
    keys.insert(1, Line2D([], [], color=BLACK, linestyle="", marker="o", markerfacecolor="none", label=LINES[7].name))
    save(figure, path, keys, 3)


def band(one: Any, line: Line, x: list[int], values: Array) -> None:
    style = {"linestyle": "", "marker": "o", "markerfacecolor": "none"} if line.dashes == "o" else {"linestyle": line.dashes}
    one.plot(x, values.mean(axis=0), color=line.colour, linewidth=1.7, **style)
    if len(values) > 1:
        one.fill_between(x, values.min(axis=0), values.max(axis=0), color=line.colour, alpha=0.15, linewidth=0)


def weigh(one: Any, found: list[dict[str, float]]) -> None:
    W = [of["W"] for of in found]
    drawn = [("R_G", "R_G, closed form", BLUE, "-"), ("R_D", "R_D as the paper counts it", RED, "-"),
             ("R_D uneven", "R_D, labels C, −C/2", RED, "--"), ("regret alternating", "regret, labels C, −C", BLACK, "-"),
             ("regret uneven", "regret, labels C, −C/2", BLACK, "--")]  # fmt: skip
    for part, name, colour, dashes in drawn:
        one.plot(W, [of[part] for of in found], dashes, color=colour, linewidth=1.7, label=name)
    one.set_yscale("symlog", linthresh=1.0)
    one.set(xscale="log", xlabel="W, the sum of the weights", ylim=(-3e4, None))
    one.set_title(f"weights W − B, 1, …, 1, 0, …: B = {SMALL}, T = {SCHEDULED:,}", loc="left")
    one.legend(frameon=False, fontsize=8, loc="lower right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of the random ones (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw counterexample.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, measured(options.seeds))
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, tables(found))


if __name__ == "__main__":
    main()
