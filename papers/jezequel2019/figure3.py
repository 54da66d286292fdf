"""Figure 3: regret against an adversary in n = 80 rounds, with d = 5, σ = 1, λ = 1 and (x, y) in [-1, 1]^5 × [-1, 1].

In the left panel the adversary searches in each round for the (x, y) that adds most to this learner's regret. In the right panel,
which is not in the paper, x is drawn at random, and only y is chosen by the adversary. Every learner gets a stream of its own. The
regret is Σ(y - ŷ)² - min_f [Σ(y - f(x))² + λ‖f‖²], with f in the whole space of the Gaussian kernel. Each thin line is one seed (of
the adversary, of KORS's random draws and of FOGD's frequencies), the thick line is their mean, and the dotted line is what
Proposition 1 allows KernelAWV on its streams. ProsNKONS has the square loss, α = 1, C = 1, η half of the curvature; FOGD has the
square loss, 1,000 features and the step 1/√n. Writes figure3.png and figure3.json.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import onkel
from onkel.measure import adversaries, best_in_hindsight, bounds, regret
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save

Array = NDArray[np.float64]

ROUNDS, DIM, LAM, SEEDS = 80, 5, 1.0, 5
KERNEL = onkel.Gaussian(width=1.0)
KORS = onkel.Kors(mu=1.0, accuracy=0.5, oversampling=1.0)
FREQUENCIES = 500  # of FOGD: two features each
BOUND = "Proposition 1, for KernelAWV"


def pros_n_kons(seed: int, restart: bool = True) -> Any:
    return onkel.ProsNKONS(
        KERNEL, onkel.Square(), alpha=LAM, clip=1.0, dictionary=KORS, restart=restart, budget=None, seed=seed
    )  # fmt: skip


def fogd(seed: int) -> Any:
    return onkel.FOGD(onkel.Fourier(FREQUENCIES, width=1.0, seed=seed), onkel.Square(), step=1.0 / math.sqrt(ROUNDS))


CONTENDERS: dict[str, tuple[str, str, Callable[[int], Any]]] = {  # name -> colour, dashes, learner for a seed
    "KernelAWV": (BLACK, "-", lambda seed: onkel.KernelAWV(KERNEL, LAM)),
    "KernelRidge": (PINK, "-", lambda seed: onkel.KernelRidge(KERNEL, LAM)),
    "PKAWV, Taylor M = 2": (RED, "-", lambda seed: onkel.PKAWV(onkel.Taylor(degree=2, width=1.0), LAM)),
    "PKAWV, Taylor M = 3": (ORANGE, "-", lambda seed: onkel.PKAWV(onkel.Taylor(degree=3, width=1.0), LAM)),
    "PKAWV, Taylor M = 4": (GREEN, "-", lambda seed: onkel.PKAWV(onkel.Taylor(degree=4, width=1.0), LAM)),
    "PKAWV, Taylor M = 8": (SKY, "-", lambda seed: onkel.PKAWV(onkel.Taylor(degree=8, width=1.0), LAM)),
    "PKAWV, Nyström (KORS)": (BLUE, "-", lambda seed: onkel.PKAWVNystroem(KERNEL, LAM, KORS, seed=seed)),
    "ProsNKONS": (BLUE, "--", pros_n_kons),
    "ProsNKONS, no restarts": (SKY, "--", lambda seed: pros_n_kons(seed, restart=False)),
    "FOGD": (PINK, "--", fogd),
}

STYLES = {name: (colour, dashes) for name, (colour, dashes, _) in CONTENDERS.items()} | {BOUND: (BLACK, ":")}
Stream = tuple[Array, Array, Array]  # X, y, scores
Curves = dict[str, list[list[float]]]  # learner -> one regret curve a seed


def chosen_inputs(learner: Any, seed: int) -> Stream:
    return adversaries.greedy(learner, ROUNDS, DIM, KERNEL, LAM, seed=seed)


def random_inputs(learner: Any, seed: int) -> Stream:
    X, y, scores = np.random.default_rng(seed).uniform(-1.0, 1.0, (ROUNDS, DIM)), np.empty(ROUNDS), np.empty(ROUNDS)
    state = learner.init(DIM)
    for t in range(ROUNDS):
        now = slice(t, t + 1)
        score = learner.predict(state, X[now])[0]
        gains = {}
        for label in (-1.0, 1.0):
            y[t] = label
            gains[label] = (label - score) ** 2 - best_in_hindsight(X[: t + 1], y[: t + 1], KERNEL, LAM)
        y[t] = worst(gains, score)
        scores[t] = learner.learn(state, X[now], y[now])[0]
    return X, y, scores


def worst(gains: dict[float, float], score: float) -> float:
    """The label that adds most to the regret. If both labels add the same, as they always do for KernelAWV, the one that
    contradicts the score."""
    return max(gains, key=lambda label: (round(gains[label], 9), -label * score))


ADVERSARIES = {"the worst input and label": chosen_inputs, "random inputs, the worst label": random_inputs}


def curves(adversary: str, seeds: int) -> Curves:
    found: Curves = {name: [] for name in (*CONTENDERS, BOUND)}
    jobs = [(name, seed) for seed in range(seeds) for name in CONTENDERS]
    for name, seed in track(jobs, description=adversary, console=Console(stderr=True)):
        learner = CONTENDERS[name][2](seed)
        X, y, scores = ADVERSARIES[adversary](learner, seed)
        found[name].append(regret(scores, X, y, KERNEL, LAM).curve.round(6).tolist())
        if isinstance(learner, onkel.KernelAWV):
            allowed = [bounds.kernel_awv(KERNEL, X[:t], y[:t], LAM, largest=1.0) for t in range(1, ROUNDS + 1)]
            found[BOUND].append(np.round(allowed, 6).tolist())
    return found


def table(found: dict[str, Curves]) -> str:
    """The regret after the last round, mean and range over the seeds."""
    lines = ["| learner | " + " | ".join(found) + " |", "|---" + "|--:" * len(found) + "|"]
    for name in (*CONTENDERS, BOUND):
        last = [np.array(each[name])[:, -1] for each in found.values()]
        lines.append(f"| {name} | " + " | ".join(f"{v.mean():.1f} ({v.min():.1f} to {v.max():.1f})" for v in last) + " |")
    return "\n".join(lines)


def draw(found: dict[str, Curves], path: Path) -> None:
    figure, axes = panels(1, len(found), 10.5, 4.9)
    rounds = np.arange(1, ROUNDS + 1)
    for one, (adversary, of) in zip(axes[0], found.items(), strict=True):
        for name, each in of.items():
            colour, style = STYLES[name]
            one.plot(rounds, np.mean(each, axis=0), color=colour, linestyle=style, linewidth=1.8)
            for curve in each if name in CONTENDERS else ():
                one.plot(rounds, curve, color=colour, linewidth=0.5, alpha=0.5)
        one.set(xlim=(0, ROUNDS), ylim=(0.0, 82.0), xlabel="rounds")
        one.set_title(adversary, loc="left")
    axes[0, 0].set_ylabel("regret")
    handles = [key(name, colour, dashes) for name, (colour, dashes) in STYLES.items()]
    save(figure, path, handles, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="streams for each learner (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="only draw figure3.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        found = {adversary: curves(adversary, options.seeds) for adversary in ADVERSARIES}
        here.with_suffix(".json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    found = json.loads(here.with_suffix(".json").read_text(encoding="utf-8"))
    draw(found, here.with_suffix(".png"))
    print(table(found))


if __name__ == "__main__":
    main()
