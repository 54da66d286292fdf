"""When do restarts pay? ProsNKONS with restart=True and with restart=False, on the same rows, dictionary and random draws.

    ONKEL_DATA=folder python -m papers.calandriello2017.restarts

With restarts the learner forgets everything whenever a point joins the dictionary. The pictures show by how much restarts have
raised the loss so far, as a share of the loss without restarts: below zero restarts pay. The dictionaries are KORS with μ = 100, 10
and 1, and with μ = 1 and at most 20 points; α = 1, C = 1, η = σ/2. There are stationary streams, streams whose beginning misleads,
and two real sets (ONKEL_DATA names their folder; each seed takes the first 20,000 rows of a permutation, with columns divided by
their largest absolute value). The sixth stream is made for restarts: in its first half x stays in a fifth of the range, with the
labels of the other class; then the range opens, and the dictionary grows for a while just when what was learnt is wrong. Lines are
means over the seeds, bands reach from the smallest to the largest. Writes restarts.png, restarts.json and restarts.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from rich.console import Console
from rich.progress import track

import onkel
from onkel.losses import Loss
from papers.calandriello2017.contenders import Array, classification, regression
from papers.data import by_largest, load
from papers.plots import BLUE, GREEN, ORANGE, RED, key, panels, save
from papers.results import keep, kept, publish

ROWS, REAL_ROWS, SEEDS, REAL_SEEDS = 8000, 20_000, 5, 3
BUDGET = 20
POINTS = 40  # of a curve
DICTIONARIES: dict[str, tuple[float, int | None, str, str]] = {  # name: μ, budget, colour, dashes
    "μ = 100": (100.0, None, GREEN, "-"),
    "μ = 10": (10.0, None, BLUE, "-"),
    "μ = 1": (1.0, None, RED, "-"),
    f"μ = 1, at most {BUDGET} points": (1.0, BUDGET, ORANGE, "--"),
}


def flipped(rows: int, seed: int) -> tuple[Array, Array]:
    """Rings, with the labels of the other class in the first quarter."""
    X, y = classification(rows, seed)
    y[: rows // 4] *= -1.0
    return X, y


def replaced(rows: int, seed: int) -> tuple[Array, Array]:
    """A regression whose target is replaced three times."""
    X, y = onkel.data.abrupt(rows, dim=2, noise=0.3, changes=3, seed=seed)
    return X, np.clip(y / 3.0, -1.0, 1.0)


def elsewhere(rows: int, seed: int) -> tuple[Array, Array]:
    """Rings. The first quarter of the rows has reversed labels, and lies in a region that no later row visits."""
    X, y = flipped(rows, seed)
    X[: rows // 4] += 10.0
    return X, y


def opening(rows: int, seed: int) -> tuple[Array, Array]:
    """x in [−0.2, 0.2] and mostly −1 in the first half, x in [−1, 1] and mostly +1 in the second: one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    X, wrong = rng.uniform(-1.0, 1.0, (rows, 1)), rng.random(rows) < 0.1
    first = np.arange(rows) < rows // 2
    X[first] *= 0.2
    return X, np.where(first != wrong, -1.0, 1.0)


def real(name: str) -> Callable[[int, int], tuple[Array, Array]]:
    def rows_of(rows: int, seed: int) -> tuple[Array, Array]:
        X, y = load(name, by_largest, seed)
        return X[:rows], y[:rows]

    return rows_of


@dataclass(frozen=True)
class Stream:
    title: str
    data: Callable[[int, int], tuple[Array, Array]]
    loss: Loss
    width: float = 1.0
    rows: int = ROWS
    seeds: int = SEEDS


STREAMS = [
    Stream("regression", regression, onkel.Square()),
    Stream("rings", classification, onkel.SquaredHinge()),
    Stream("rings, the first quarter flipped", flipped, onkel.SquaredHinge()),
    Stream("regression, three changes", replaced, onkel.Square()),
    Stream("rings, an early region left for ever", elsewhere, onkel.SquaredHinge()),
    Stream("made for restarts", opening, onkel.Square(), width=0.5),
    Stream("cod-rna", real("cod-rna"), onkel.SquaredHinge(), rows=REAL_ROWS, seeds=REAL_SEEDS),
    Stream("ijcnn1", real("ijcnn1"), onkel.SquaredHinge(), rows=REAL_ROWS, seeds=REAL_SEEDS),
]


def shown(rows: int) -> list[int]:
    return [int(t) for t in np.linspace(rows / POINTS, rows, POINTS)]


def run(stream: Stream, mu: float, budget: int | None, seed: int) -> dict[str, Any]:
    X, y = stream.data(stream.rows, seed)
    found: dict[str, Any] = {}
    for restart in (True, False):
        learner = onkel.ProsNKONS(
            onkel.Gaussian(stream.width), stream.loss, dictionary=onkel.Kors(mu=mu), restart=restart, budget=budget, seed=seed
        )
        state = learner.init(X.shape[1])
        scores = learner.learn(state, X, y)
        total = np.cumsum(stream.loss(scores, y))
        found["with" if restart else "without"] = [float(total[t - 1]) for t in shown(stream.rows)]
        found["error with" if restart else "error without"] = float(np.mean(np.where(scores >= 0.0, 1.0, -1.0) != np.sign(y)))
    half = int(np.sum(state.span.joined[state.span.spanning] >= stream.rows // 2))
    return found | {"restarts": state.restarts, "late": half}


def measured() -> dict[str, dict[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = {stream.title: {} for stream in STREAMS}
    for stream in STREAMS:
        stream.data(1000, 0)  # so that a missing file is an error now, and not after the other streams
    jobs = [(stream, name) for stream in STREAMS for name in DICTIONARIES]
    for stream, name in track(jobs, console=Console(stderr=True)):
        mu, budget, _, _ = DICTIONARIES[name]
        found[stream.title][name] = [run(stream, mu, budget, seed) for seed in range(stream.seeds)]
    return found


def extra(runs: list[dict[str, Any]]) -> Array:
    """By how much restarts have raised the loss so far, as a share of the loss without them: one row for each seed."""
    return np.array([np.array(one["with"]) / np.array(one["without"]) - 1.0 for one in runs])


def summary(found: dict[str, dict[str, list[dict[str, Any]]]]) -> Iterator[str]:
    yield "| restarts cost | " + " | ".join(DICTIONARIES) + " |"
    yield "|---" + "|--:" * len(DICTIONARIES) + "|"
    for title, of in found.items():
        yield f"| {title} | " + " | ".join(f"{extra(of[name])[:, -1].mean():+.1%}" for name in DICTIONARIES) + " |"
    yield ""


def table(found: dict[str, dict[str, list[dict[str, Any]]]]) -> Iterator[str]:
    heads = ("restarts", "of them in the second half", "loss a row with", "without", "restarts cost", "error with", "without")
    yield "| stream | dictionary | " + " | ".join(heads) + " |"
    yield "|---|---" + "|--:" * 7 + "|"
    for stream in STREAMS:
        for name, runs in found[stream.title].items():
            mean = {
                part: float(np.mean([one[part] for one in runs])) for part in ("restarts", "late", "error with", "error without")
            }
            losses = [float(np.mean([one[part][-1] for one in runs])) / stream.rows for part in ("with", "without")]
            last = extra(runs)[:, -1]
            cells = [f"{mean['restarts']:.0f}", f"{mean['late']:.0f}", f"{losses[0]:.4f}", f"{losses[1]:.4f}"]
            cells.append(f"{last.mean():+.1%} ({last.min():+.1%} to {last.max():+.1%})")
            signs = stream.data not in (regression, replaced)
            cells += [f"{mean[part]:.1%}" if signs else "" for part in ("error with", "error without")]
            yield f"| {stream.title} | {name} | " + " | ".join(cells) + " |"


def draw(found: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    figure, axes = panels(4, 2, 9.6, 12.0)
    for one, stream in zip(axes.flat, STREAMS, strict=True):
        for name, runs in found[stream.title].items():
            _, _, colour, dashes = DICTIONARIES[name]
            values = 100.0 * extra(runs)
            one.plot(shown(stream.rows), values.mean(axis=0), dashes, color=colour, linewidth=1.7)
            one.fill_between(shown(stream.rows), values.min(axis=0), values.max(axis=0), color=colour, alpha=0.13, linewidth=0)
        one.axhline(0.0, color="0.2", linewidth=1.0)
        one.set(xlim=(0, stream.rows), xlabel="rows", ylabel="restarts cost, %")
        one.xaxis.set_major_locator(MaxNLocator(5))
        one.set_title(stream.title, loc="left")
    save(figure, path, [key(name, colour, dashes) for name, (_, _, colour, dashes) in DICTIONARIES.items()], 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw restarts.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, measured())
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, [*summary(found), *table(found)])


if __name__ == "__main__":
    main()
