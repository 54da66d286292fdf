"""Regret against t: KONS, its sketches, and the Newton step in the span of a dictionary, on four streams.

The regret after t rounds is Σ ℓ(ŷ) − Σ ℓ(f), where f has the least Σ ℓ + ½α‖f‖² among all functions of the Gaussian kernel's
space (width 1) with |f(x_s)| ≤ C in the first t rounds; f is computed anew for every t shown. All learners have α = 1 and η = σ.
KORS of ProsNKONS has μ = 1, β = 1, ε = ½ and no budget. SketchedKONS has β = 1, except in one line of the tables. Gradient descent
is NORMA with λ = 0 and a constant step 1/√T; it keeps all points, and its scores are not clipped to [−C, C].

The streams are rings that overlap, with the logistic loss (C = 2) and the squared hinge (C = 1); a noisy regression in the plane,
with the square loss (C = 1); and one where x is uniform on [−1, 1] and every label contradicts the sign of the score, so that each
learner has a stream of its own. Lines are means over the seeds, bands reach from the smallest to the largest. The dotted line is
proportional to √t, through the regret of KONS at the first t shown. Writes regret.png, regret.json and regret.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from rich.console import Console
from rich.progress import track

import onkel
from onkel.measure import Best, best_within, bounds, newton_regret
from papers.calandriello2017.contenders import (
    ALPHA,
    CONTENDERS,
    DELTA,
    FIRST_ORDER,
    KERNEL,
    Array,
    Contender,
    Setting,
    classification,
    points,
    regression,
)
from papers.plots import key, panels, save
from papers.results import keep, kept, publish, spread

ROWS, SEEDS = 2000, 5
SHOWN = [20, 30, 45, 65, 100, 150, 200, 300, 450, 650, 1000, 1400, 2000]
TENTH = SHOWN.index(ROWS // 10)
Played = tuple[Array, Array, Array, int]  # X, y, scores, points in the matrix


def told(data: Callable[[int, int], tuple[Array, Array]]) -> Callable[[Any, int], Played]:
    """A stream that does not depend on the learner."""

    def play(learner: Any, seed: int) -> Played:
        X, y = data(ROWS, seed)
        state = learner.init(X.shape[1])
        return X, y, learner.learn(state, X, y), points(state)

    return play


def against_the_score(learner: Any, seed: int) -> Played:
    """Every label is the sign opposite to that of the score."""
    X, y, scores = np.random.default_rng(seed).uniform(-1.0, 1.0, (ROWS, 1)), np.empty(ROWS), np.empty(ROWS)
    state = learner.init(1)
    for t in range(ROWS):
        now = slice(t, t + 1)
        y[t] = -1.0 if learner.predict(state, X[now])[0] >= 0.0 else 1.0
        scores[t] = learner.learn(state, X[now], y[now])[0]
    return X, y, scores, points(state)


@dataclass(frozen=True)
class Task:
    title: str
    setting: Setting
    play: Callable[[Any, int], Played]


TASKS = [
    Task("rings, logistic loss", Setting(onkel.Logistic(), 2.0, ROWS), told(classification)),
    Task("rings, squared hinge", Setting(onkel.SquaredHinge(), 1.0, ROWS), told(classification)),
    Task("regression, square loss", Setting(onkel.Square(), 1.0, ROWS), told(regression)),
    Task("labels against the score, square loss", Setting(onkel.Square(), 1.0, ROWS), against_the_score),
]


class Hindsight:
    """The best functions for every t shown; stored, because most learners learn the same stream."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.last, self.found = setting, b"", list[Best]()

    def __call__(self, X: Array, y: Array) -> list[Best]:
        if (now := X.tobytes() + y.tobytes()) != self.last:
            loss, clip = self.setting.loss, self.setting.clip
            self.found = [best_within(KERNEL, X[:t], y[:t], loss, 0.5 * ALPHA, clip) for t in SHOWN]
            self.last = now
        return self.found


def measure(task: Task, contender: Contender, seed: int, hindsight: Hindsight) -> dict[str, Any]:
    learner = contender.make(task.setting, seed)
    X, y, scores, size = task.play(learner, seed)
    best = hindsight(X, y)
    loss = np.cumsum(task.setting.loss(scores, y))
    found: dict[str, Any] = {"points": size, "regret": [float(loss[t - 1] - f.cost) for t, f in zip(SHOWN, best, strict=True)]}
    if contender.name == "SketchedKONS, γ = 1":
        exact = onkel.KONS(**task.setting.common)
        found["from_kons"] = float(np.max(np.abs(scores - exact.learn(exact.init(X.shape[1]), X, y))))
    elif isinstance(learner, onkel.KONS | onkel.SketchedKONS):
        parts = newton_regret(learner, X, y, best[-1])
        found |= {"norm": parts.norm, "R_G": parts.gradients, "R_D": parts.drift, "proposition": parts.allowed}
        if seed == 0:  # the bounds run the learner on the stream again, so they are computed for one seed only
            found |= promised(learner, X, y, best[-1].squared_norm)
    return found


def promised(learner: Any, X: Array, y: Array, squared_norm: float) -> dict[str, float]:
    """What the theorems allow: Theorem 1, computed with the measured slopes and without running the learner; or Theorem 3, for
    learners that have the β which it requires."""
    if isinstance(learner, onkel.KONS):
        before = bounds.kons_by_dimension(learner, X, y, squared_norm)
        return {"theorem": bounds.kons(learner, X, y, squared_norm), "before": before}
    if learner.oversampling > 1.0:
        return {"theorem": bounds.sketched_kons(learner, X, y, squared_norm, DELTA)}
    return {}


def measured(seeds: int) -> dict[str, Any]:
    found: dict[str, Any] = {task.title: {c.name: [] for c in CONTENDERS} for task in TASKS}
    for task, seed in track([(t, s) for t in TASKS for s in range(seeds)], console=Console(stderr=True)):
        hindsight = Hindsight(task.setting)
        for contender in CONTENDERS:
            found[task.title][contender.name].append(measure(task, contender, seed, hindsight))
    return found


def summary(found: dict[str, Any]) -> Iterator[str]:
    yield f"| regret after {ROWS:,} rounds | " + " | ".join(found) + " |"
    yield "|---" + "|--:" * len(found) + "|"
    for contender in CONTENDERS:
        last = [[run["regret"][-1] for run in of[contender.name]] for of in found.values()]
        yield f"| {contender.name} | " + " | ".join(spread(each) for each in last) + " |"
    yield ""


def table(title: str, found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    heads = ("points", "regret", "over that at T/10", "R_G", "R_D", "Proposition 1 allows", "Theorem 1 or 3", "before the stream")
    yield f"| {title} | " + " | ".join(heads) + " |"
    yield "|---" + "|--:" * 8 + "|"
    for name, runs in found.items():
        regret = np.array([run["regret"] for run in runs])
        cells = [spread([run["points"] for run in runs]), spread(regret[:, -1])]
        cells.append(f"{np.mean(regret[:, -1]) / np.mean(regret[:, TENTH]):.2f}")
        for part in ("R_G", "R_D", "proposition", "theorem", "before"):
            known = [run[part] for run in runs if part in run]
            cells.append(spread(known) if known else "")
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def claims(found: dict[str, Any]) -> Iterator[str]:
    runs = [run for of in found.values() for each in of.values() for run in each]
    apart = max(run["from_kons"] for run in runs if "from_kons" in run)
    yield f"- γ = 1: the largest difference from a score of KONS is {apart:.1g}."
    ratios = [run["regret"][-1] / run["proposition"] for run in runs if "proposition" in run]
    middle = np.median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}, median {middle:.2f}"
    yield f"- The regret divided by the bound of Proposition 1 with its ½: {spread}."
    first = [(run, "before" in run) for run in runs if "theorem" in run]
    for said, part, exact in (
        ("Theorem 1", "theorem", True),
        ("Theorem 1, before the stream is played,", "before", True),
        ("Theorem 3", "theorem", False),
    ):
        ratios = [run[part] / run["regret"][-1] for run, of_kons in first if of_kons == exact]
        yield f"- {said} allows {min(ratios):.1f} to {max(ratios):.1f} times the measured regret (first seed)."
    ahead = found["labels against the score, square loss"]
    early = [SHOWN[i] for i in range(len(SHOWN)) if _mean(ahead[FIRST_ORDER], i) < _mean(ahead["KONS"], i)]
    yield f"- Labels against the score: gradient descent has less regret than KONS up to t = {max(early)}, among the t shown."
    for title, of in found.items():
        last = {name: float(np.mean([run["regret"][-1] for run in each])) for name, each in of.items()}
        told = [name for name in last if name == "ProsNKONS, no restarts" or ("γ" in name and name.count(",") == 1)]
        over = [f"{name.split(', ')[1]}: {last[name] / last['KONS']:.2f}" for name in told]
        yield f"- {title}: regret divided by that of KONS: " + "; ".join(over) + " (ProsNKONS)."


def _mean(runs: list[dict[str, Any]], at: int) -> float:
    return float(np.mean([run["regret"][at] for run in runs]))


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 10.0, 8.4)
    lines = [c for c in CONTENDERS if c.colour]
    for one, (title, of) in zip(axes.flat, found.items(), strict=True):
        top = 0.0
        for contender in lines:
            regret = np.array([run["regret"] for run in of[contender.name]])
            if contender.dashes == "o":
                one.plot(SHOWN, regret.mean(axis=0), "o", color=contender.colour, markersize=5, markerfacecolor="none")
                continue
            one.plot(SHOWN, regret.mean(axis=0), contender.dashes, color=contender.colour, linewidth=1.8)
            one.fill_between(SHOWN, regret.min(axis=0), regret.max(axis=0), color=contender.colour, alpha=0.08, linewidth=0)
            if "KONS," in contender.name and "ProsNKONS, restarts" not in contender.name:
                top = max(top, float(regret.max()))
        start = float(np.mean([run["regret"][0] for run in of["KONS"]]))
        one.plot(SHOWN, start * np.sqrt(np.array(SHOWN) / SHOWN[0]), ":", color="0.35", linewidth=1.8)
        one.set(xscale="log", xlim=(SHOWN[0], ROWS), ylim=(0.0, 1.05 * top), xlabel="rounds t (logarithmic)", ylabel="regret")
        one.set_xticks([20, 50, 100, 200, 500, 1000, 2000], ["20", "50", "100", "200", "500", "1000", "2000"], minor=False)
        one.set_xticks([], minor=True)
        one.set_title(title, loc="left")
    keys = [key(c.name, str(c.colour), c.dashes) for c in lines if c.dashes != "o"]
    marker = Line2D([], [], color=str(lines[1].colour), linestyle="", marker="o", markerfacecolor="none", label=lines[1].name)
    keys = [keys[0], marker, *keys[1:], key("c√t", "0.35", ":")]
    save(figure, path, keys, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="streams, and coins (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw regret.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, measured(options.seeds))
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, [*summary(found), *(line for title, of in found.items() for line in table(title, of)), *claims(found)])


if __name__ == "__main__":
    main()
