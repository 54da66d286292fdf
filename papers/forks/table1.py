"""Table 1: the stated growth rates of time and regret, beside the measured ones.

Time is in microseconds a row, in regular rounds (no update of a sketch, see figure1) once the budget is full, for B or D from 50 to
800, with the rank k = 10 and with k = B/10; x ~ N(0, I) in 16 dimensions, width 4, random labels, so that half of all rounds are
mistakes and Projectron projects in these. FOGD has D frequencies. The figures are medians of the processor time of one thread, with
learners in turns. The power of B is fitted by least squares on logarithms, from B = 100 on; the last column is the power between
the two largest B.

Regret is Σ ℓ(ŷ) − Σ ℓ(f), where f has the least Σ ℓ + ½‖f‖² among the functions of the kernel's space (Gaussian, width 1) that stay
within [−1, 1], as FORKS and ProsNKONS do. Every T is a run of its own: gradient steps are √(10/T), the paper's 0.2 at T = 250,
because O(√T) is stated for steps of that kind and not for a constant one; ρ = ⌊0.3T⌋. B = 100 and all other sizes are those of
Table 2. The loss is the squared hinge, and the hinge for BOGD, which has no other. RBP, BPAS and Projectron minimise no loss: their
theorems bound *mistakes* by the hinge loss of f times a constant. For these the tables show the regret of their hinge loss, and
mistakes − Σ hinge(f). NORMA (λ = 0) and KONS show what first and second order reach without a budget.

There are three streams: two rings that overlap; the sign of a smooth function in the plane, with noise; and x uniform on [−1, 1],
where every label contradicts the sign of the score. On the third the kernel matrix has a small rank, so that budget and sketch lose
next to nothing. The power of T is by least squares on logarithms, "fits best" the best of least squares lines over ln T, √T and T,
both from T = 500 on: up to 250 rounds SkeGD and FORKS have hardly left their first stage.

Why is the regret of FORKS so large on the first two? To find out, FORKS is also run with k = 40, and without updates (an update
sets w to 0). The last table has what any w could reach on the rings: the regret of the best function in hindsight among those of
the k leading coordinates of the first 200 points that stay within [−C, C].

The script takes five minutes. Writes table1.png, table1.json and table1.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from onkel.linalg.eigen import leading
from onkel.losses import Loss
from onkel.measure import best_within, hindsight, mistakes
from papers.forks.contenders import PAPER, Array, Setting
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save, ticks
from papers.results import keep, kept, publish

SIZES = [50, 100, 200, 400, 800]
FITTED = 1  # sizes from this one on
DIM, FIXED_RANK = 16, 10
BLOCK, TURNS = 2000, 9
NO_UPDATES = 10**9

LENGTHS = [250, 500, 1000, 2000, 4000]
LINEAR = 20.0  # regrets up to this size are on a linear scale, since some are negative
SEEDS, BUDGET, THETA = 5, 100, 0.3
STEP_AT = 10.0  # steps are √(this/T)
ENOUGH = 1e-6  # relative accuracy of the loss of the best function
HINGE, CURVED = onkel.Hinge(), onkel.SquaredHinge()
GROWTHS: dict[str, Callable[[Array], Array]] = {"ln T": np.log, "√T": np.sqrt, "T": lambda t: t}


@dataclass(frozen=True)
class Stated:
    time: str
    powers: tuple[int, int]  # of B in the stated time: k fixed, k = B/10
    regret: str
    colour: str
    dashes: str = "-"
    loss: Loss = CURVED
    follows_loss: bool = True

    @property
    def ranked(self) -> bool:
        """Whether it has a rank k."""
        return "k" in self.time


METHODS = {
    "RBP": Stated("O(B)", (1, 1), "O(√T)", PINK, "--", HINGE, False),
    "BOGD": Stated("O(B)", (1, 1), "O(√T)", ORANGE, loss=HINGE),
    "FOGD": Stated("O(D)", (1, 1), "O(√T)", SKY),
    "BPAS": Stated("O(B)", (1, 1), "O(√T)", PINK, "-", HINGE, False),
    "Projectron": Stated("O(B²)", (2, 2), "O(√T)", GREEN, "--", HINGE, False),
    "NOGD": Stated("O(Bk)", (1, 2), "O(√T)", GREEN),
    "SkeGD": Stated("O(Bk)", (1, 2), "O(√T)", BLUE),
    "ProsNKONS": Stated("O(B²)", (2, 2), "O(log T)", BLACK, "--"),
    "FORKS": Stated("O(Bk + k²)", (1, 2), "O(log T)", RED),
}
VARIANTS: dict[str, dict[str, int]] = {
    "FORKS, no updates": {"period": NO_UPDATES, "max_updates": 0},
    "FORKS, k = 40": {"rank": 40, "landmarks": 50},
    "FORKS, k = 40, no updates": {"rank": 40, "landmarks": 50, "period": NO_UPDATES, "max_updates": 0},
}
VARIANT_STYLES = dict(zip(("FORKS", *VARIANTS), ((RED, "-"), (RED, "--"), (SKY, "-"), (SKY, "--")), strict=True))
SPAN_POINTS, RANKS, CLIPS = 200, [10, 20, 40], [1.0, 2.0, 5.0]
PARENTS = {"NORMA, no budget": "O(√T)", "KONS, no budget": "O(log T)"}
PARENT_STYLES = dict(zip(PARENTS, (("0.35", "--"), ("0.35", "-")), strict=True))
REGRET_STYLES = {name: (of.colour, of.dashes) for name, of in METHODS.items()} | PARENT_STYLES


# time


def timed_learners(fixed: bool) -> dict[tuple[str, int], Any]:
    found = {}
    for size in SIZES:
        at = Setting(rows=1, budget=size, period=NO_UPDATES, buffer=1.0, width=DIM**0.5, sketched_width=DIM**0.5)
        for name, of in METHODS.items():
            learner = PAPER[name](at, 0)
            if name == "FOGD":
                learner = onkel.FOGD(onkel.Fourier(size, at.width))
            if name == "ProsNKONS":
                learner = replace(learner, budget=size, dictionary=onkel.Kors(oversampling=1e9))  # takes every point
            if of.ranked and fixed:
                learner = replace(learner, rank=FIXED_RANK)
            found[name, size] = learner
    return found


def microseconds(fixed: bool) -> dict[str, list[float]]:
    """The microseconds of a row, for each method and size."""
    rng = np.random.default_rng(0)
    learners = timed_learners(fixed)
    states = {}
    for (name, size), learner in learners.items():
        rows = 4 * size + BLOCK
        states[name, size] = learner.init(DIM)
        learner.learn(states[name, size], rng.normal(size=(rows, DIM)), rng.choice([-1.0, 1.0], rows))
        _check_full(name, states[name, size], size)
    taken: dict[tuple[str, int], list[float]] = {which: [] for which in learners}
    for _ in track(range(TURNS), description="time", console=Console(stderr=True)):
        X, y = rng.normal(size=(BLOCK, DIM)), rng.choice([-1.0, 1.0], BLOCK)
        for which, learner in learners.items():
            before = time.thread_time()
            learner.learn(states[which], X, y)
            taken[which].append(1e6 * (time.thread_time() - before) / BLOCK)
    return {name: [float(np.median(taken[name, size])) for size in SIZES] for name in METHODS}


def _check_full(name: str, state: Any, size: int) -> None:
    points = len(state.span.points) if hasattr(state, "span") else int(state.support.size[0]) if name != "FOGD" else size
    if points < size:
        raise RuntimeError(f"{name} has {points} points of {size}: more rows are needed before the clock runs")


def power(x: list[int], values: Any) -> float:
    return float(np.polyfit(np.log(x), np.log(values), 1)[0])


# regret


def learner_for(name: str, rows: int, seed: int, loss: Loss) -> Any:
    step = (STEP_AT / rows) ** 0.5
    at = Setting(rows=rows, budget=BUDGET, period=int(THETA * rows), width=1.0, sketched_width=1.0, loss=loss)
    if name == "NORMA, no budget":
        return onkel.NORMA(at.kernel, loss, step=step, lam=0.0)
    if name == "KONS, no budget":
        return onkel.KONS(at.kernel, loss)
    learner = replace(PAPER["FORKS"](at, seed), **VARIANTS[name]) if name in VARIANTS else PAPER[name](at, seed)
    return replace(learner, step=step) if hasattr(learner, "step") else learner


def rings(rows: int, seed: int) -> tuple[Array, Array]:
    return onkel.data.rings(rows, noise=0.3, seed=seed)


def smooth(rows: int, seed: int) -> tuple[Array, Array]:
    X, y = onkel.data.smooth(rows, dim=2, noise=0.3, seed=seed)
    return X, np.where(y < 0.0, -1.0, 1.0)


Played = tuple[Array, Array, Array]  # X, y, scores


def told(data: Callable[[int, int], tuple[Array, Array]]) -> Callable[[Any, int, int], Played]:
    """A stream that does not depend on the learner."""

    def play(learner: Any, rows: int, seed: int) -> Played:
        X, y = data(rows, seed)
        return X, y, learner.learn(learner.init(X.shape[1]), X, y)

    return play


def against_the_score(learner: Any, rows: int, seed: int) -> Played:
    X, y, scores = np.random.default_rng(seed).uniform(-1.0, 1.0, (rows, 1)), np.empty(rows), np.empty(rows)
    state = learner.init(1)
    for t in range(rows):
        now = slice(t, t + 1)
        y[t] = -1.0 if learner.predict(state, X[now])[0] >= 0.0 else 1.0
        scores[t] = learner.learn(state, X[now], y[now])[0]
    return X, y, scores


STREAMS = {"rings": told(rings), "smooth": told(smooth), "labels against the score": against_the_score}


class Hindsight:
    """Σ ℓ of the best function; stored, because most learners learn the same stream."""

    def __init__(self) -> None:
        self.known: dict[tuple[bytes, str], float] = {}

    def __call__(self, X: Array, y: Array, loss: Loss) -> float:
        which = (X.tobytes() + y.tobytes(), repr(loss))
        if which not in self.known:
            with patch.object(hindsight, "GAP", ENOUGH):  # for the hinge loss the search may stall near a gap of 1e-8
                self.known[which] = best_within(onkel.Gaussian(1.0), X, y, loss, 0.5, 1.0).cost
        return self.known[which]


def regrets() -> dict[str, Any]:
    lines: dict[str, Loss] = {name: of.loss for name, of in METHODS.items()} | dict.fromkeys([*VARIANTS, *PARENTS], CURVED)
    found: dict[str, Any] = {stream: {name: {"regret": [], "mistakes": []} for name in lines} for stream in STREAMS}
    jobs = [(stream, rows, seed) for stream in STREAMS for rows in LENGTHS for seed in range(SEEDS)]
    for stream, rows, seed in track(jobs, description="regret", console=Console(stderr=True)):
        best_cost = Hindsight()
        for name, loss in lines.items():
            X, y, scores = STREAMS[stream](learner_for(name, rows, seed, loss), rows, seed)
            best = best_cost(X, y, loss)
            found[stream][name]["regret"].append(float(np.sum(loss(scores, y))) - best)
            if loss is HINGE:
                found[stream][name]["mistakes"].append(float(np.sum(mistakes(scores, y))) - best)
    for of in found.values():
        for name, parts in of.items():
            of[name] = {part: np.reshape(each, (len(LENGTHS), SEEDS)).mean(axis=1).tolist() for part, each in parts.items() if each}
    return found


def in_spans() -> dict[str, list[float]]:
    """The regret of the best function of k coordinates that stays within [−C, C], on the longest rings: k -> one a C."""
    X, y = rings(LENGTHS[-1], 0)
    kernel, points = onkel.Gaussian(1.0), X[:SPAN_POINTS]
    best, found = Hindsight()(X, y, CURVED), {}
    for rank in RANKS:
        V, eigenvalues = leading(kernel(points, points), rank)
        Phi = kernel(X, points) @ (V / np.sqrt(eigenvalues))
        found[str(rank)] = [best_within(onkel.Identity(), Phi, y, CURVED, 0.5, clip).cost - best for clip in CLIPS]
    return found


def growth(values: list[float]) -> tuple[str, str]:
    """The power of T, and which of ln T, √T and T fits best. The first T are left out, because most of their rounds are in the
    first stage."""
    y, t = np.array(values[1:]), np.array(LENGTHS[1:], dtype=float)
    left = {}
    for name, of in GROWTHS.items():
        A = np.column_stack([np.ones(len(t)), of(t)])
        left[name] = float(np.linalg.norm(A @ np.linalg.lstsq(A, y, rcond=None)[0] - y))
    p = f"{power(LENGTHS[1:], y):.2f}" if np.all(y > 0.0) else ""
    return p, min(left, key=lambda name: left[name])


# what is told


def table(found: dict[str, Any]) -> Iterator[str]:
    for fixed, title in (("fixed", f"k = {FIXED_RANK}"), ("growing", "k = B/10")):
        yield (
            f"| {title}: µs a row, B or D = | "
            + " | ".join(f"{size}" for size in SIZES)
            + " | stated | that is a power of | measured | at last |"
        )
        yield "|---" + "|--:" * len(SIZES) + "|---|--:|--:|--:|"
        for name, each in found["time"][fixed].items():
            of = METHODS[name]
            if fixed == "growing" and not of.ranked:
                continue  # the same learner
            fits = power(SIZES[FITTED:], each[FITTED:]), power(SIZES[-2:], each[-2:])
            cells = [f"{one:.2f}" for one in each]
            stated = of.powers[fixed == "growing"]
            yield f"| {name} | " + " | ".join(cells) + f" | {of.time} | {stated} | {fits[0]:.2f} | {fits[1]:.2f} |"
        yield ""
    for stream, of in found["regret"].items():
        yield f"| {stream}: regret, T = | " + " | ".join(f"{rows}" for rows in LENGTHS) + " | stated | power of T | fits best |"
        yield "|---" + "|--:" * len(LENGTHS) + "|---|--:|---|"
        for name, parts in of.items():
            yield f"| {_said(name)} | {_cells(parts['regret'])} | {_stated(name)} | " + " | ".join(growth(parts["regret"])) + " |"
        for name, parts in of.items():
            if name in METHODS and not METHODS[name].follows_loss:
                line = f"| {name}: mistakes − Σ hinge(f) | {_cells(parts['mistakes'])} | a mistake bound | "
                yield line + " | ".join(growth(parts["mistakes"])) + " |"
        yield ""
    yield f"| rings, T = {LENGTHS[-1]}: the least regret in a span, C = | " + " | ".join(f"{clip:g}" for clip in CLIPS) + " |"
    yield "|---" + "|--:" * len(CLIPS) + "|"
    for rank, each in found["spans"].items():
        yield f"| k = {rank} | {_cells(each)} |"


def _said(name: str) -> str:
    loss = METHODS[name].loss if name in METHODS else CURVED
    return f"{name}, {'hinge' if loss is HINGE else 'squared hinge'}"


def _stated(name: str) -> str:
    if name in VARIANTS:
        return METHODS["FORKS"].regret
    if name in PARENTS:
        return PARENTS[name]
    return METHODS[name].regret + ("" if METHODS[name].follows_loss else ", really of mistakes")


def _cells(values: list[float]) -> str:
    return " | ".join(f"{value:,.0f}" for value in values)


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 3, 13.0, 9.4)
    for panel, (which, title) in zip(axes[0], (("fixed", f"time, k = {FIXED_RANK}"), ("growing", "time, k = B/10")), strict=False):
        for name, of in METHODS.items():
            panel.plot(SIZES, found["time"][which][name], of.dashes, color=of.colour, linewidth=1.8, marker=".")
        for stated, dashes in ((1, ":"), (2, "-.")):
            panel.plot(SIZES, 0.25 * (np.array(SIZES) / SIZES[0]) ** stated, dashes, color="0.6", linewidth=1.4)
        panel.set(xscale="log", yscale="log", ylim=(0.1, None), xlabel="budget B (FOGD: frequencies D)", ylabel="µs a row")
        ticks(panel.xaxis, SIZES)
        ticks(panel.yaxis, [0.1, 0.3, 1, 3, 10, 30, 100, 300], "g")
        panel.set_title(title, loc="left")
    for panel, (stream, lines) in zip(axes[1], found["regret"].items(), strict=True):
        for name, (colour, dashes) in REGRET_STYLES.items():
            curve(panel, lines[name]["regret"], colour, dashes)
        finish(panel, f"regret, {stream}")
    for name, (colour, dashes) in VARIANT_STYLES.items():
        curve(axes[0, 2], found["regret"]["rings"][name]["regret"], colour, dashes)
    finish(axes[0, 2], "regret of FORKS, rings")
    axes[0, 2].legend(handles=[key(name, *style) for name, style in VARIANT_STYLES.items()], frameon=False, loc="upper left")
    keys = [key(name, of.colour, of.dashes) for name, of in METHODS.items()]
    keys += [key(name, *style) for name, style in PARENT_STYLES.items()]
    guides = [key("∝ B (time), ∝ √T (regret)", "0.6", ":", 1.4), key("∝ B² (time), ∝ T (regret)", "0.6", "-.", 1.4)]
    save(figure, path, [*keys, *guides], 4)


def curve(panel: Any, values: list[float], colour: str, dashes: str) -> None:
    panel.plot(LENGTHS, values, dashes, color=colour, linewidth=1.8, marker=".")


def finish(panel: Any, title: str) -> None:
    for p, dashes in ((0.5, ":"), (1.0, "-.")):
        panel.plot(LENGTHS, 40.0 * (np.array(LENGTHS) / LENGTHS[0]) ** p, dashes, color="0.6", linewidth=1.4)
    panel.set(xscale="log", yscale="log", ylim=(15.0, 5000.0), xlabel="rounds T, each a run of its own", ylabel="regret")
    levels = [20, 50, 100, 200, 500, 1000, 2000, 5000]
    if min(np.min(line.get_ydata()) for line in panel.lines) < 0.0:
        panel.set_yscale("symlog", linthresh=LINEAR, linscale=0.4)
        panel.axhspan(-LINEAR, LINEAR, color="0.95", zorder=0)
        panel.set(ylim=(-600.0, 5000.0), ylabel="regret (grey: linear scale)")
        levels = [-500, -100, 0, *levels]
    ticks(panel.xaxis, LENGTHS)
    ticks(panel.yaxis, levels)
    panel.set_title(title, loc="left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw table1.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(
            here, {"time": {"fixed": microseconds(True), "growing": microseconds(False)}, "regret": regrets(), "spans": in_spans()}
        )
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, table(found))


if __name__ == "__main__":
    main()
