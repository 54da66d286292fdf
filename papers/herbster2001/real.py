"""Additive regression on real data: one pass, every row scored before it is learnt, all rows counted.

    cadata    20,640 Californian blocks of houses, permuted (seed 0); y: median value in 100,000 $
    bike      17,379 hours of a bicycle hire, in their order of time; y: hundreds of hires in the hour
    kin8nm     8,192 positions of a robot's arm, permuted (seed 0); y: distance of its hand from a target

Splines have the order 1, and 2 where they are periodic (hour, weekday, month); rough splines have one less. Their domains are those
of the calendar and of the instruments for bike, the range of the first 100 rows for the two others (values outside are clipped to
it). Exponential has the rate 1/deviation of the first 100 rows in each column (1 where they are all equal). The linear learners get
the same inputs as the splines, mapped to [0, 1], and a constant. Step, ε, γ and the weight of Delta are chosen from a small grid by
the least square error on the first 2,000 rows; these rows then count like all others. Time is processor time of one thread, the
least of three passes. The number of keys counts equal values of an input once. Writes real.json and real.md, and the curves after
the last row: curves_cadata.png, curves_bike.png, curves_kin8nm.png.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import onkel
from onkel.functions.curves_with_delta import CurvesWithDelta
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.kernels import Kernel
from onkel.kernels.additive import Interval
from onkel.measure.prequential import ROWS_AT_ONCE
from onkel.report import draw_components
from papers.data import SEED, raw
from papers.results import keep, kept, publish

Array = NDArray[np.float64]

FIRST, TUNING, PASSES = 100, 2_000, 3
STEPS = (0.01, 0.03, 0.1, 0.2, 0.4)  # η times the number of inputs; with larger steps NORMA with splines can diverge
DRAWN = STEPS[2]  # the step for the curves in the pictures
EPSILONS = (0.01, 0.05, 0.2, 0.5, 1.0)  # ε divided by the deviation of the first labels
RADII = (0.3, 1.0, 3.0, 10.0)  # γ divided by the same
SPIKES = (0.3, 1.0, 3.0, 10.0, 30.0)  # the weight of Delta divided by the number of inputs
BIKE_UNITS = np.array([1.0, 1, 1, 1, 1, 1, 1, 1, 41, 50, 100, 67])  # the file holds the values divided by these
BIKE: dict[str, onkel.Spline | onkel.PeriodicSpline] = {
    "season (1 winter … 4 autumn)": onkel.Spline(domain=(1.0, 4.0)),
    "year (0: 2011, 1: 2012)": onkel.Spline(domain=(0.0, 1.0)),
    "month": onkel.PeriodicSpline(domain=(1.0, 13.0)),
    "hour of the day": onkel.PeriodicSpline(domain=(0.0, 24.0)),
    "holiday (0 no, 1 yes)": onkel.Spline(domain=(0.0, 1.0)),
    "weekday (0: Sunday)": onkel.PeriodicSpline(domain=(0.0, 7.0)),
    "working day (0 no, 1 yes)": onkel.Spline(domain=(0.0, 1.0)),
    "weather (1 clear … 4 storm)": onkel.Spline(domain=(1.0, 4.0)),
    "temperature (°C)": onkel.Spline(domain=(0.0, 41.0)),
    "felt temperature (°C)": onkel.Spline(domain=(0.0, 50.0)),
    "humidity (%)": onkel.Spline(domain=(0.0, 100.0)),
    "wind speed (0 to 67)": onkel.Spline(domain=(0.0, 67.0)),
}
CADATA = (
    "median income (10,000 $)",
    "age of the houses (years)",
    "rooms in the block",
    "bedrooms in the block",
    "people in the block",
    "households in the block",
    "latitude (°)",
    "longitude (°)",
)


Splines = onkel.Spline | onkel.PeriodicSpline


@dataclass(frozen=True)
class Problem:
    X: Array
    y: Array
    names: tuple[str, ...]
    bases: tuple[Splines, ...]
    unit: float  # of y
    error: str  # the unit in which errors are printed
    output: str


def problem(name: str) -> Problem:
    X, y = raw(name)
    if name == "bike":
        return Problem(
            X * BIKE_UNITS, y / 100.0, tuple(BIKE), tuple(BIKE.values()), 100.0, "hires an hour", "hires (hundreds an hour)"
        )
    order = np.random.default_rng(SEED).permutation(len(y))
    X, y = X[order], y[order]
    low, high = X[:FIRST].min(axis=0), X[:FIRST].max(axis=0)
    bases = tuple(onkel.Spline(domain=(float(a), float(b))) for a, b in zip(low, high, strict=True))
    if name == "cadata":
        return Problem(X, y / 1e5, CADATA, bases, 100.0, "1,000 $", "value (100,000 $)")
    angles = tuple(f"angle of joint {j} (rad)" for j in range(1, 9))
    return Problem(X, y, angles, bases, 1.0, "its own unit", "distance")


PROBLEMS = ("cadata", "bike", "kin8nm")


def rates(X: Array) -> tuple[Interval, ...]:
    spread = X[:FIRST].std(axis=0)
    return tuple(onkel.Exponential(float(rate)) for rate in 1.0 / np.where(spread > 0.0, spread, 1.0))


def mapped(of: Problem) -> Array:
    """The inputs in [0, 1], and a constant."""
    low, high = np.array([base.domain for base in of.bases]).T
    return np.column_stack([np.clip((of.X - low) / (high - low), 0.0, 1.0), np.ones(len(of.X))])


Choices = list[Any]


def tubes(kernel: Kernel, of: Problem, radius: bool = False, spike: bool = False) -> Choices:
    unit, inputs = float(of.y[:FIRST].std()), of.X.shape[1]
    return [
        onkel.TubeProjection(kernel + onkel.Delta(w * inputs) if spike else kernel, e * unit, g * unit if radius else None)
        for e, g, w in product(EPSILONS, RADII if radius else RADII[:1], SPIKES if spike else SPIKES[:1])
    ]


def descents(kernel: Kernel, of: Problem) -> Choices:
    return [onkel.NORMA(kernel, onkel.Square(), step=step / of.X.shape[1], lam=0.0) for step in STEPS]


def kernels(of: Problem) -> dict[str, Kernel]:
    return {
        "splines": onkel.Additive(of.bases),
        "rough splines": onkel.Additive(tuple(replace(base, order=base.order - 1) for base in of.bases)),
        "exponentials": onkel.Additive(rates(of.X)),
    }


def contenders(of: Problem) -> dict[str, tuple[Array, Choices]]:
    """The learners, each with its inputs and the settings to choose from."""
    ways: dict[str, Callable[[Kernel], Choices]] = {
        "TubeProjection": lambda kernel: tubes(kernel, of),
        "TubeProjection, a radius": lambda kernel: tubes(kernel, of, radius=True),
        "TubeProjection, + Delta": lambda kernel: tubes(kernel, of, spike=True),
        "NORMA": lambda kernel: descents(kernel, of),
    }
    found = {f"{way}, {what}": (of.X, make(kernel)) for way, make in ways.items() for what, kernel in kernels(of).items()}
    unknown = onkel.Additive(tuple(base if base.wraps else replace(base, domain=None) for base in of.bases))
    found[f"NORMA, splines, domains of the first {FIRST} rows"] = of.X, descents(unknown, of)
    line, linear = mapped(of), onkel.Linear()
    found |= {f"{way}, linear": (line, make(linear)) for way, make in ways.items() if "Delta" not in way}
    found["PKAWV, linear"] = line, [onkel.PKAWV(onkel.Identity())]
    found["PKAWV(), on standardised inputs"] = of.X, [onkel.PKAWV(standardised(onkel.PKAWV().features))]
    return found


def standardised(features: Any) -> tuple[Any, ...]:
    return onkel.Standardize(), features


def chosen(X: Array, y: Array, choices: Choices) -> Any:
    """The settings with the least square error on the first rows."""
    if len(choices) == 1:
        return choices[0]
    return min(choices, key=lambda one: onkel.prequential(one, (X[:TUNING], y[:TUNING])).mean("square"))


def run(of: Problem, X: Array, choices: Choices) -> dict[str, Any]:
    learner = chosen(X, of.y, choices)
    trace, epsilon = onkel.prequential(learner, (X, of.y)), getattr(learner, "epsilon", 0.0)
    return {
        "absolute": of.unit * trace.mean("absolute"),
        "root": of.unit * float(np.sqrt(trace.mean("square"))),
        "microseconds": 1e6 * min(seconds(learner, X, of.y) for _ in range(PASSES)) / trace.rows,
        "bytes": trace.nbytes,
        "learnt": int(np.sum(np.abs(trace.scores - trace.y) > epsilon)),
        "keys": keys(trace.state),
        "settings": settings(learner),
    }


def seconds(learner: Any, X: Array, y: Array) -> float:
    """Processor time of one pass."""
    state, before = learner.init(X.shape[1]), time.thread_time()
    for start in range(0, len(y), ROWS_AT_ONCE):
        learner.learn(state, X[start : start + ROWS_AT_ONCE], y[start : start + ROWS_AT_ONCE])
    return time.thread_time() - before


def keys(state: Any) -> int | None:
    f = getattr(getattr(state, "inner", state), "support", None)
    f = f.curves if isinstance(f, CurvesWithDelta) else f
    return int(f.length.sum()) if isinstance(f, SortedBlocks) else None


def settings(learner: Any) -> str:
    parts = [f"{mark} = {getattr(learner, name):.3g}" for name, mark in MARKS.items() if getattr(learner, name, None)]
    spikes = [part.weight for part in getattr(getattr(learner, "kernel", None), "parts", ()) if isinstance(part, onkel.Delta)]
    return ", ".join([*parts, *(f"Delta({weight:g})" for weight in spikes)])


MARKS = {"epsilon": "ε", "radius": "γ", "step": "η"}


def simple(of: Problem) -> dict[str, dict[str, float]]:
    """The errors of two predictions that need no learner: the mean so far, and the last label."""
    mean, last = np.append(0.0, np.cumsum(of.y)[:-1] / np.arange(1, len(of.y))), np.append(0.0, of.y[:-1])
    return {
        name: {
            "absolute": of.unit * float(np.mean(np.abs(of.y - guess))),
            "root": of.unit * float(np.sqrt(np.mean((of.y - guess) ** 2))),
        }
        for name, guess in {"the mean so far": mean, "the last label": last}.items()
    }


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in PROBLEMS:
        of = problem(name)
        found[name] = {"error": of.error, "rows": len(of.y), "learners": {}}
        for learner, (X, choices) in track(contenders(of).items(), description=name, console=Console(stderr=True)):
            found[name]["learners"][learner] = run(of, X, choices)
        found[name]["learners"] |= simple(of)
        found[name]["heights"] = heights(of)
    return found


def curves(of: Problem, kernel: Kernel) -> tuple[Any, onkel.measure.Components]:
    learner = onkel.NORMA(kernel, onkel.Square(), step=DRAWN / of.X.shape[1], lam=0.0)
    trace = onkel.prequential(learner, (of.X, of.y))
    return learner, onkel.components(learner, trace.state, names=of.names)


def heights(of: Problem) -> dict[str, dict[str, float]]:
    """The height of each curve, from its lowest to its highest value among the middle 99 % of the rows, in the unit in which errors
    are printed."""
    low, high = np.quantile(of.X, (0.005, 0.995), axis=0)
    found: dict[str, dict[str, float]] = {}
    for name, kernel in kernels(of).items():
        for c, curve in enumerate(curves(of, kernel)[1].curves):
            shown = curve.y[(curve.x >= low[c]) & (curve.x <= high[c])]
            found.setdefault(curve.name, {})[name] = of.unit * float(np.ptp(shown))
    return found


def draw(name: str, path: Path) -> None:
    of = problem(name)
    learner, parts = curves(of, kernels(of)["exponentials"])
    draw_components(path, parts, of.X, of.output, f"{name}: NORMA, one pass, Additive of Exponential, η = {learner.step:.3g}")


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, of in found.items():
        head = f"| {name}: errors in {of['error']} | absolute | root of mean square | µs a row | kB | rows learnt | keys | chosen |"
        yield head
        yield "|---|--:|--:|--:|--:|--:|--:|---|"
        for learner, one in of["learners"].items():
            cells = [f"{one['absolute']:.4g}", f"{one['root']:.4g}"]
            if "bytes" in one:
                rows = f"{one['learnt']:,}" if "PKAWV" not in learner else ""
                cells += [f"{one['microseconds']:.1f}", f"{one['bytes'] / 1000:,.0f}", rows]
                cells += ["" if one["keys"] is None else f"{one['keys']:,}", one["settings"]]
            else:
                cells += [""] * 5
            yield f"| {learner} | " + " | ".join(cells) + " |"
        yield ""
        kinds = list(next(iter(of["heights"].values())))
        yield f"| {name}: from the lowest to the highest place of a curve of NORMA, {of['error']} | " + " | ".join(kinds) + " |"
        yield "|---" + "|--:" * len(kinds) + "|"
        for curve, each in of["heights"].items():
            yield f"| {curve} | " + " | ".join(f"{each[kind]:.3g}" for kind in kinds) + " |"
        yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tell", action="store_true", help="measure and draw nothing: write real.md again from real.json")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.tell:
        keep(here, measured())
        for name in PROBLEMS:
            draw(name, here.with_name(f"curves_{name}.png"))
    publish(here, table(kept(here)))


if __name__ == "__main__":
    main()
