"""Sums of curves by a second-order learner: least squares on the first functions of each input, on the three real data sets.

    ONKEL_DATA=folder python -m papers.herbster2001.additive

`MercerProjection(AdditiveSystem(…))` as it comes, with 30 functions of each input, beside `PKAWV()` and a line, all on inputs and
targets that are standardised as they come; and beside the best first-order sum of curves of real.py, `NORMA` on exponentials with
the step that real.py chose. Domains are given: those of all rows for cadata and kin8nm, and the natural ranges of bike. The rows of
cadata and kin8nm are in five random orders, those of bike in their own. Writes additive.json and additive.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from onkel.combine import Scaled
from papers.data import raw
from papers.herbster2001.real import BIKE, BIKE_UNITS, Array, rates
from papers.results import main, spread

COUNT = 30  # functions of an input
ORDERS = 5
PROBLEMS = {"cadata": ("1,000 $", 1e-3), "bike": ("hires an hour", 1.0), "kin8nm": ("its own unit", 1.0)}
STEPS = {"cadata": 0.2, "bike": 0.4, "kin8nm": 0.1}  # of NORMA times the number of inputs, as real.py chose them


def stream(name: str, seed: int) -> tuple[Array, Array]:
    X, y = raw(name)
    if name == "bike":
        return X * BIKE_UNITS, y
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def domains(name: str, X: Array) -> list[tuple[float, float]]:
    if name == "bike":
        return [(float(low), float(high)) for low, high in (base.domain for base in BIKE.values())]  # type: ignore[misc]
    return [(float(low), float(high)) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True)]


def learners(name: str, X: Array) -> dict[str, Any]:
    ends = domains(name, X)
    cosines = tuple(onkel.Cosine(domain=ends_of) for ends_of in ends)
    polynomials = tuple(onkel.Legendre(domain=ends_of) for ends_of in ends)
    return {
        "MercerProjection, cosines": onkel.MercerProjection(onkel.AdditiveSystem(cosines), COUNT),
        "MercerProjection, polynomials": onkel.MercerProjection(onkel.AdditiveSystem(polynomials), min(COUNT, 10)),
        "NORMA, exponentials": onkel.NORMA(onkel.Additive(rates(X)), onkel.Square(), step=STEPS[name] / X.shape[1], lam=0.0),
        "a line": Scaled(onkel.PKAWV(onkel.Identity() + onkel.Constant())),
        "PKAWV()": Scaled(onkel.PKAWV()),
    }


def root(learner: Any, X: Array, y: Array) -> float:
    """The root of the mean square error; the target is standardised by its first rows, so that steps and ridges fit its unit."""
    unit, middle = float(y[:100].std()), float(y[:100].mean())
    trace = onkel.prequential(learner, (X, (y - middle) / unit))
    return unit * float(np.sqrt(trace.mean("square")))


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (unit, factor) in PROBLEMS.items():
        found[name] = {"error": unit, "learners": {}}
        for seed in track(range(1 if name == "bike" else ORDERS), description=name, console=Console(stderr=True)):
            X, y = stream(name, seed)
            for called, learner in learners(name, X).items():
                found[name]["learners"].setdefault(called, []).append(factor * root(learner, X, y))
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    names = list(next(iter(found.values()))["learners"])
    yield "| root of the mean square error | " + " | ".join(f"{name}, {of['error']}" for name, of in found.items()) + " |"
    yield "|---" + "|--:" * len(found) + "|"
    for name in names:
        yield f"| {name} | " + " | ".join(spread(of["learners"][name], ".4g") for of in found.values()) + " |"


if __name__ == "__main__":
    main(__file__, measured, table)
