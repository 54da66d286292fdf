"""Errors after n rows, and the rates at which they fall: code shared by Figures 1, 4 and 5 and the heavy tails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

from onkel.features.mercer import System
from papers.plots import BLACK, BLUE, GREEN, ORANGE, RED, key
from papers.zhang_simon2021.examples import Array, Example

CHECKPOINTS = tuple(round(10.0 ** (3.0 + i / 6.0)) for i in range(13))  # 10³ … 10⁵
REPETITIONS = 15
NEAR = 0.1  # how far a fitted slope may be from the theory's
WORST = 1.25  # the error with an N that follows the data, over that with the hand-picked N, at the last n

GROWING, FOLLOWING, BEST = "N grows, the paper's constant", "N follows the data", "the best N in hindsight"
DESCENT, RIDGE = "functional SGD, the paper's steps", "kernel ridge regression"
COLOURS = {GROWING: BLUE, FOLLOWING: RED, BEST: "0.45", DESCENT: GREEN, RIDGE: ORANGE}
DASHES = {BEST: ":"}
ERROR = r"$\|\hat{f} - f\|^2$"
Path = dict[str, list[float]]  # error and, where there is one, level after each of the checkpoints
Way = Callable[[Example, int], Path]  # of a stream


def learnt(learner: Any, at: tuple[int, ...] = CHECKPOINTS) -> Way:
    """The errors of a learner in one pass."""

    def path(example: Example, seed: int) -> Path:
        (X, y), fresh = example.stream(at[-1], seed), example.fresh(seed)
        state, found = learner.init(X.shape[1]), Path(error=[])
        for start, end in zip((0, *at), at, strict=False):
            learner.learn(state, X[start:end], y[start:end])
            found["error"].append(example.error(learner.predict(state, fresh), fresh))
            if hasattr(learner, "level"):
                found.setdefault("level", []).append(learner.level(state))
        return found

    return path


def best_level(count: int, at: tuple[int, ...] = CHECKPOINTS, lam: float = 1.0) -> Way:
    """The errors of the level that has the least error on the fresh rows. No learner can know this level."""

    def path(example: Example, seed: int) -> Path:
        (X, y), fresh = example.stream(at[-1], seed), example.fresh(seed)
        dim = X.shape[1]
        widths = np.array([example.system.size(level, dim) for level in range(1, count + 1)])
        A, b, found = lam * np.eye(widths[-1]), np.zeros(widths[-1]), Path(error=[], level=[])
        for start, end in zip((0, *at), at, strict=False):
            for rows in np.array_split(np.arange(start, end), 1 + (end - start) // 4096):
                Psi = example.system.functions(X[rows], widths[-1])
                A, b = A + Psi.T @ Psi, b + Psi.T @ y[rows]
            curves = all_levels(A, b, example.system, fresh, widths)
            errors = np.mean((curves - example.truth(fresh)[:, None]) ** 2, axis=0)
            found["error"].append(float(errors.min()))
            found["level"].append(1 + int(errors.argmin()))
        return found

    return path


def all_levels(A: Array, b: Array, system: System, X: Array, widths: Any) -> Array:
    """The curve of each level at these rows, (rows, levels)."""
    L = np.linalg.cholesky(A)
    Z = scipy.linalg.solve_triangular(L, system.functions(X, len(b)).T, lower=True)
    c = scipy.linalg.solve_triangular(L, b, lower=True)
    return np.asarray(np.cumsum(Z.T * c, axis=1)[:, widths - 1])


def mean(paths: list[Path], what: str = "error") -> Array:
    return np.asarray(np.mean([path[what] for path in paths], axis=0))


def slope(errors: Array, at: tuple[int, ...] = CHECKPOINTS) -> float:
    """The slope of log(error) over log(n)."""
    return float(np.polyfit(np.log(at[: len(errors)]), np.log(errors), 1)[0])


def slope_and_spread(paths: list[Path], at: tuple[int, ...] = CHECKPOINTS) -> tuple[float, float]:
    """The slope of the mean error, and its standard error by the jackknife."""
    without = [slope(mean(paths[:i] + paths[i + 1 :]), at) for i in range(len(paths))]
    return slope(mean(paths), at), float(np.sqrt((len(paths) - 1) * np.var(without)))


def table(title: str, found: dict[str, list[Path]], at: tuple[int, ...] = CHECKPOINTS) -> Iterator[str]:
    shown = [i for i, n in enumerate(at) if n in (10**3, 10**4, 10**5)]
    heads = [f"error at {at[i]:,}" for i in shown] + [f"N at {at[i]:,}" for i in shown]
    yield f"| {title} | slope | " + " | ".join(heads) + " |"
    yield "|---" + "|--:" * (1 + 2 * len(shown)) + "|"
    for name, paths in found.items():
        value, apart = slope_and_spread(paths, at)
        errors = [f"{mean(paths)[i]:.3g}" if i < len(paths[0]["error"]) else "" for i in shown]
        levels = [f"{mean(paths, 'level')[i]:.1f}" if "level" in paths[0] else "" for i in shown]
        known = len(paths[0]["error"]) == len(at)
        yield f"| {name} | " + (f"{value:.3f} ± {apart:.3f}" if known else "") + " | " + " | ".join(errors + levels) + " |"
    yield ""


def claims(name: str, found: dict[str, list[Path]], rate: float, at: tuple[int, ...] = CHECKPOINTS) -> Iterator[str]:
    """The claims, each with whether it holds."""
    for way in (GROWING, FOLLOWING):
        value = slope(mean(found[way]), at)
        yield judged(
            f"{name}, {way}: slope {value:.3f}; is it within {NEAR} of the theory's {rate:.3f}?", abs(value - rate) <= NEAR
        )
    over = mean(found[FOLLOWING])[-1] / mean(found[GROWING])[-1]
    yield judged(
        f"{name}, at {at[-1]:,}: {over:.2f} times the paper's error where N follows the data; is it at most {WORST} times?",
        over <= WORST,
    )


def judged(claim: str, holds: bool) -> str:
    return f"- {claim} {'Yes' if holds else '**No**'}."


def plot(one: Any, found: dict[str, list[Path]], rate: float, at: tuple[int, ...] = CHECKPOINTS) -> None:
    """Mean errors, a band from the lower to the upper quartile, and a line of the theory's slope below them."""
    n = np.array(at)
    for name, paths in found.items():
        errors = np.array([path["error"] for path in paths])
        known, colour = n[: errors.shape[1]], COLOURS[name]
        one.plot(known, errors.mean(axis=0), DASHES.get(name, "-"), color=colour, linewidth=1.8)
        if name != BEST:
            low, high = np.quantile(errors, (0.25, 0.75), axis=0)
            one.fill_between(known, low, high, color=colour, alpha=0.12, linewidth=0)
    start = 0.4 * min(mean(paths)[0] for paths in found.values())
    one.plot(n, start * (n / n[0]) ** rate, color=BLACK, linewidth=1.2)
    one.set(xscale="log", yscale="log", xlabel="rows n", ylabel=ERROR, xlim=(n[0], n[-1]))


def keys(names: Any) -> list[Any]:
    return [key(name, COLOURS[name], DASHES.get(name, "-")) for name in names]
