"""Every bound of the paper on 200 streams: the measured regret compared with what the theorem allows.

    python -m papers.jezequel2019.bounds        prints the table and writes bounds.md

The streams are random, constant, alternating, heavily duplicated, and adversarial (the greedy adversary of appendix G), 40 of each,
with one to three columns, n = 60 rows in the unit ball and labels in [−1, 1]. A bound is computed where its conditions hold.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

import onkel
from onkel.measure import adversaries, bounds, projection_error

Array = NDArray[np.float64]

KINDS = ("random", "constant", "alternating", "duplicates", "adversarial")
STREAMS_OF_A_KIND = 40
ROWS = 60
DELTA = 0.05
KERNEL = onkel.Gaussian(width=1.0)
RIDGES = (0.1, 1.0, 10.0)
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)  # of λ, for experts
DEGREES = range(9)


@dataclass(frozen=True)
class Stream:
    kind: str
    seed: int
    lam: float
    X: Array
    y: Array


@dataclass(frozen=True)
class Check:
    bound: str
    learner: str
    measured: float
    allowed: float


def stream(kind: str, seed: int) -> Stream:
    """One stream of a kind; the seed also sets its width, its ridge and its noise."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    dim, lam = 1 + seed % 3, RIDGES[seed // 3 % 3]
    X = rng.uniform(-1.0, 1.0, (ROWS, dim)) / math.sqrt(dim)
    y = np.clip(np.sin(3.0 * X[:, 0]) + rng.normal(0.0, 0.5, ROWS), -1.0, 1.0)
    if kind == "constant":
        X, y = np.repeat(X[:1], ROWS, axis=0), np.full(ROWS, rng.choice([-1.0, 1.0]))
    elif kind == "alternating":
        X, y = X[np.arange(ROWS) % 2], np.where(np.arange(ROWS) % 2 == seed % 2, 1.0, -1.0)
        y *= np.where(np.arange(ROWS) // 2 % 2 == 0, 1.0, -1.0)  # both points contradict themselves
    elif kind == "duplicates":
        X, y = X[rng.integers(0, 5, ROWS)], rng.choice([-1.0, 1.0], ROWS)
        X += np.where(rng.random((ROWS, 1)) < 0.3, 1e-7, 0.0) * rng.normal(size=(ROWS, dim))
        X /= max(1.0, float(np.sqrt(np.sum(X**2, axis=1)).max()))
    elif kind == "adversarial":
        victims = (onkel.KernelAWV(KERNEL, lam), onkel.PKAWV(onkel.Taylor(2, 1.0), lam), onkel.PKAWVNystroem(KERNEL, lam))
        victim, side = victims[seed % len(victims)], 1.0 / math.sqrt(dim)  # a box within the unit ball
        X, y, _ = adversaries.greedy(victim, ROWS, dim, KERNEL, lam, side=side, seed=seed)
    return Stream(kind, seed, lam, X, y)


def streams() -> list[tuple[str, int]]:
    return [(kind, seed) for kind in KINDS for seed in range(STREAMS_OF_A_KIND)]


def checks(stream: Stream) -> Iterator[Check]:
    """Every bound whose conditions hold on this stream."""
    X, y, lam = stream.X, stream.y, stream.lam
    n, dim = X.shape

    def run(learner: Any, space: Any = KERNEL) -> tuple[float, Any]:
        state = learner.init(dim)
        scores = learner.learn(state, X, y)
        return onkel.regret(scores, X, y, space, lam).total, state

    exact, _ = run(onkel.KernelAWV(KERNEL, lam))
    yield Check("Proposition 1", "KernelAWV", exact, bounds.kernel_awv(KERNEL, X, y, lam, 1.0))
    yield Check("Propositions 1 and 2", "KernelAWV", exact, bounds.kernel_awv_by_dimension(KERNEL, X, y, lam, 1.0))
    ridge, _ = run(onkel.KernelRidge(KERNEL, lam, clip=1.0))
    yield Check("clipped ridge (Zhdanov & Kalnishkan)", "KernelRidge(clip=1)", ridge, bounds.clipped_ridge(KERNEL, X, y, lam, 1.0))

    low = onkel.Taylor(2, 1.0)
    yield Check("Proposition 1 in the features' span", "PKAWV, degree 2", run(onkel.PKAWV(low, lam), low)[0],
                bounds.kernel_awv(low, X, y, lam, 1.0))  # fmt: skip
    yield Check("Theorem 3", "PKAWV, degree 2", run(onkel.PKAWV(low, lam))[0], bounds.fixed_span(KERNEL, low, X, y, lam, 1.0))
    high = onkel.Taylor(bounds.taylor_degree(n, lam, 1.0, 1.0), 1.0)
    yield Check("Theorem 4", "PKAWV, the theorem's degree", run(onkel.PKAWV(high, lam))[0],
                bounds.taylor(high, X, y, lam, 1.0, 1.0))  # fmt: skip
    yield Check("Gaussian effective dimension", "-", onkel.effective_dimension(KERNEL, X, lam),
                bounds.gaussian_dimension(n, dim, lam, 1.0, 1.0))  # fmt: skip

    for name, dictionary in (("KORS, β = 1", onkel.Kors(mu=lam)), ("uniform, a fifth", onkel.Uniform(0.2))):
        found, state = run(onkel.PKAWVNystroem(KERNEL, lam, dictionary, seed=stream.seed))
        joined = state.span.joined[state.span.spanning]
        yield Check("Theorem 9", f"PKAWVNystroem, {name}", found, bounds.growing_span(KERNEL, X, y, lam, joined, 1.0))

    theory = onkel.Kors(mu=0.1 * lam, oversampling=bounds.oversampling(n, DELTA))
    found, state = run(onkel.PKAWVNystroem(KERNEL, lam, theory, seed=stream.seed))
    allowed = bounds.nystroem(KERNEL, X, y, lam, theory, len(state.span.points), DELTA, 1.0)
    yield Check("Theorem 6", "PKAWVNystroem, theory's β", found, allowed)

    yield from mixtures(stream)

    points = theory.choose(KERNEL, X, seed=stream.seed)
    span = onkel.Nystroem(KERNEL, points)
    known, _ = run(onkel.PKAWV(span, lam))
    yield Check("Corollary 8", "PKAWV, inputs known beforehand", known, bounds.known_inputs(KERNEL, X, y, lam, theory, DELTA, 1.0))
    left_out, size = bounds.kors(KERNEL, X, theory, DELTA)
    yield Check("Proposition 5, ‖(I−P)C^½‖²", "KORS, theory's β", projection_error(KERNEL, X, span), left_out)
    yield Check("Proposition 5, points", "KORS, theory's β", len(points), size)


def mixtures(stream: Stream) -> Iterator[Check]:
    """λ by experts on a grid, and all degrees of the Taylor features at once, against the best f for every λ of the grid: the one
    for which the bound is tightest."""
    X, y = stream.X, stream.y
    ridges = tuple(onkel.KernelAWV(KERNEL, lam) for lam in GRID)
    degrees = tuple(onkel.PKAWV(onkel.Taylor(degree, 1.0), stream.lam) for degree in DEGREES)
    K = KERNEL(X, X)
    for name, learners in (("λ by experts", ridges), ("all degrees at once", degrees)):
        for rule in (onkel.Layered(), onkel.ExponentialWeights()):
            learner = onkel.Experts(learners, rule)
            loss = float(np.sum((learner.learn(learner.init(X.shape[1]), X, y) - y) ** 2))
            found = []
            for lam in GRID:
                coef = np.linalg.solve(K + lam * np.eye(len(X)), y)
                regret = loss - float(np.sum((y - K @ coef) ** 2))
                found.append((regret, bounds.grid(learner, X, y, float(coef @ K @ coef), KERNEL, 1.0)))
            yield Check(name, type(rule).__name__, *max(found, key=lambda pair: pair[0] / pair[1]))


def lost(quick: bool = False) -> Iterator[str]:
    """What the mixture loses to the best λ of the grid, and what the bound of its rule allows."""
    heads = "streams | lost to the best λ: median | largest | allowed: median | λ = 1 loses: largest"
    yield f"| λ in {', '.join(f'{lam:g}' for lam in GRID)} | {heads} |"
    yield "|---|--:|--:|--:|--:|--:|"
    for rule in (onkel.Layered(), onkel.ExponentialWeights()):
        rows = []
        for kind, seed in streams()[:: 20 if quick else 1]:
            of = stream(kind, seed)
            learner = onkel.Experts(tuple(onkel.KernelAWV(KERNEL, lam) for lam in GRID), rule)
            state = learner.init(of.X.shape[1])
            loss = float(np.sum((learner.learn(state, of.X, of.y) - of.y) ** 2))
            alone = [float(np.sum((part.learn(part.init(of.X.shape[1]), of.X, of.y) - of.y) ** 2)) for part in learner.learners]
            rows.append((loss - min(alone), bounds.mixing(learner, of.X, of.y), alone[GRID.index(1.0)] - min(alone)))
        extra, allowed, fixed = np.array(rows).T
        cells = f"{np.median(extra):.2f} | {extra.max():.2f} | {np.median(allowed):.2f} | {fixed.max():.2f}"
        yield f"| {type(rule).__name__} | {len(rows)} | {cells} |"


def table(checks: Callable[[Stream], Iterator[Check]], every: int = 1) -> str:
    """One line for each bound and learner, over every `every`-th stream."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for kind, seed in track(streams()[::every], description="streams"):
        for check in checks(stream(kind, seed)):
            found[check.bound, check.learner].append(check.measured / check.allowed)
    lines = ["| bound | learner | streams | broken | measured / bound: median | largest |", "|---|---|--:|--:|--:|--:|"]
    for (bound, learner), ratios in found.items():
        broken = sum(ratio > 1.0 for ratio in ratios)
        lines.append(f"| {bound} | {learner} | {len(ratios)} | {broken} | {np.median(ratios):.3g} | {max(ratios):.3g} |")
    return "\n".join(lines) + "\n"


def write(
    place: Path, about: str | None, checks: Callable[[Stream], Iterator[Check]], more: Callable[[bool], Iterator[str]] | None = None
) -> None:
    """Print the table of these checks and the lines of `more`, and write them to `place`; with --quick nothing is written."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only every 20th stream; print the table, and keep the stored one")
    quick = parser.parse_args().quick
    text = table(checks, 20 if quick else 1)
    if more is not None:
        text += "\n" + "\n".join(more(quick)) + "\n"
    print(text)
    if not quick:
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).with_name("bounds.md"), __doc__, checks, lost)
