"""Figure 3: processor time after n rows of Example 2, for α = 1, 2 and 3; and the bytes of a state.

(A) The time of the first n rows, with N = ⌊n^(1/(2α+1))⌋ as in the paper, and with the constant ½ of Figure 1. Functional SGD in
its usual form is a sum over all rows so far, in NumPy and as a compiled loop. It is timed in windows of rows up to a million, with
the rows before a window filled in; the lines are the integrals. Functional SGD as onkel has it is in sorted blocks.
(B) The time of one row, where the constant is chosen so that there are 1,200 functions at a million rows. By the theory this time
grows as N², hence as n^(2/(2α+1)), once N is so large that N² dominates the cost of a row.
Times are those of the faster of two streams, since other work of the machine only adds time; a row's time is the median of five
windows around n. Writes figure3.png, figure3.json and figure3.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from onkel._jit import hot
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save
from papers.results import main
from papers.zhang_simon2021.examples import BROWNIAN, SECOND, Array, descent
from papers.zhang_simon2021.rates import NEAR, judged

ROWS, LEVELS, STREAMS, WINDOWS = 10**6, 1200, 2, 5
AT = tuple(round(10.0 ** (3.0 + i / 4.0)) for i in range(13))  # 10³ … 10⁶
STEP = 5.0  # of functional SGD, as in the paper
FEWEST, MOST = 64, 2_048  # rows of a window
LAST = AT.index(10**5)  # from this n on, most of a row's time grows with N
LEAST = 100.0  # the sum over all rows should take at least this many times as long
OWN, BLOCKS = "N as in Figure 1", "functional SGD, sorted blocks"
SUM, COMPILED = "functional SGD, NumPy sum", "functional SGD, compiled sum"
COLOURS = {"α = 1": BLUE, "α = 2": GREEN, "α = 3": PINK, OWN: RED, SUM: ORANGE, COMPILED: SKY, BLOCKS: BLACK}
PLACES = np.arange(1.0, 1.1 * ROWS)
Times = dict[str, list[float]]


def growing(smoothness: float, rate: float, levels: int) -> onkel.MercerProjection:
    return onkel.MercerProjection(SECOND.system, count=levels, rate=rate, smoothness=smoothness)


def needed(smoothness: float, rate: float) -> int:
    return int((ROWS / rate) ** (1.0 / (2.0 * smoothness + 1.0)) + 1e-9)


def paper(smoothness: float) -> onkel.MercerProjection:
    return growing(smoothness, 1.0, needed(smoothness, 1.0))


def wide(smoothness: float) -> onkel.MercerProjection:
    return growing(smoothness, ROWS / LEVELS ** (2.0 * smoothness + 1.0), LEVELS)


def played(learner: Any, seed: int) -> Times:
    """Time up to each n, time of a row there, and the bytes held."""
    X, y = SECOND.stream(int(1.1 * ROWS), seed)
    state, done, total = learner.init(1), 0, 0.0
    found: Times = {"total": [], "row": [], "bytes": []}

    def learn(end: int) -> float:
        nonlocal done, total
        before = time.process_time()
        learner.learn(state, X[done:end], y[done:end])
        taken, rows = time.process_time() - before, end - done
        done, total = end, total + taken
        return taken / rows

    for n in AT:
        size = min(max(n // 40, FEWEST), MOST)
        learn(n - WINDOWS * size // 2)
        windows = [learn(done + size) for _ in range(WINDOWS)]
        found["row"].append(float(np.median(windows)))
        found["total"].append(total + (n - done) * found["row"][-1])
        found["bytes"].append(onkel.nbytes(state))
    return found


def summed(steps: Callable[..., None], seed: int) -> Times:
    """The same times and bytes for a sum over all rows."""
    X, y = SECOND.stream(int(1.1 * ROWS), seed)
    a, scores, found = np.random.default_rng(seed).normal(size=len(y)), np.empty(len(y)), Times(row=[], bytes=[])
    for n in AT:
        size = max(4, min(n // 40, 10**6 // n))
        windows = []
        for start in range(n, n + WINDOWS * size, size):
            before = time.process_time()
            steps(X[:, 0], y, start, start + size, STEP, a, scores)
            windows.append((time.process_time() - before) / size)
        found["row"].append(float(np.median(windows)))
        found["bytes"].append(16 * n)
    row, n = np.array(found["row"]), np.array(AT, float)
    between = np.append(0.5 * n[0] * row[0], 0.5 * np.diff(n) * (row[1:] + row[:-1]))
    return found | {"total": np.cumsum(between).tolist()}


def sums(x: Array, y: Array, start: int, end: int, step: float, a: Array, scores: Array) -> None:
    """Functional SGD with the kernel min: f̃ = Σ a_i min(x_i, ·), and scores of its mean Σ a_i (1 − i/(n + 1)) min(x_i, ·)."""
    for n in range(start, end):
        parts = a[:n] * np.minimum(x[:n], x[n])
        last = parts.sum()
        scores[n] = last - PLACES[:n] @ parts / (n + 1.0)
        a[n] = step / np.sqrt(n + 1.0) * (y[n] - last)


@hot
def compiled_sums(x: Array, y: Array, start: int, end: int, step: float, a: Array, scores: Array) -> None:
    for n in range(start, end):
        last, moment = 0.0, 0.0
        for i in range(n):
            part = a[i] * min(x[i], x[n])
            last += part
            moment += (i + 1.0) * part
        scores[n] = last - moment / (n + 1.0)
        a[n] = step / np.sqrt(n + 1.0) * (y[n] - last)


def apart(rows: int = 2_000) -> float:
    """The largest difference between the scores of functional SGD as NumPy sum, as compiled sum, and in sorted blocks."""
    (X, y), learner = SECOND.stream(rows, 0), descent(BROWNIAN, STEP)
    wanted, scores = learner.learn(learner.init(1), X, y), np.empty((2, rows))
    for steps, out in zip((sums, compiled_sums), scores, strict=True):
        steps(X[:, 0], y, 0, rows, STEP, np.empty(rows), out)
    return float(np.max(np.abs(scores - wanted)))


def measured() -> dict[str, Any]:
    learners: dict[str, Any] = {f"α = {order}": paper(float(order)) for order in (1, 2, 3)}
    learners[OWN] = growing(SECOND.smoothness, SECOND.rate, needed(SECOND.smoothness, SECOND.rate))
    learners[BLOCKS] = descent(BROWNIAN, STEP)
    learners |= {f"{LEVELS} functions, α = {order}": wide(float(order)) for order in (1, 2, 3)}
    found: dict[str, Any] = {"apart": apart()}  # compiles, too
    for name, learner in track(learners.items(), console=Console(stderr=True)):
        learner.learn(learner.init(1), *SECOND.stream(100, 0))
        found[name] = fastest([played(learner, seed) for seed in range(STREAMS)])
    for name, steps in ((SUM, sums), (COMPILED, compiled_sums)):
        found[name] = fastest([summed(steps, seed) for seed in range(STREAMS)])
    return found


def fastest(streams: list[Times]) -> Times:
    return {what: np.min([one[what] for one in streams], axis=0).tolist() for what in streams[0]}


def exponent(row: list[float], start: int = 0) -> float:
    return float(np.polyfit(np.log(AT[start:]), np.log(row[start:]), 1)[0])


def levels(learner: onkel.MercerProjection) -> Array:
    """N at each n."""
    power = 1.0 / (2.0 * learner.smoothness + 1.0)
    return np.floor((np.array(AT) / float(learner.rate or 1.0)) ** power * (1.0 + 1e-12))


def parts(row: list[float], N: Array) -> tuple[float, float, float]:
    """p and q such that p + q N² fits the time of a row with the least relative errors, and the largest of these errors."""
    seconds = np.array(row)
    design = np.column_stack([np.ones(len(N)), N**2]) / seconds[:, None]
    (p, q), *_ = np.linalg.lstsq(design, np.ones(len(N)))
    return float(p), float(q), float(np.max(np.abs(design @ (p, q) - 1.0)))


def table(found: dict[str, Any]) -> Iterator[str]:
    shown = [AT.index(n) for n in (10**3, 10**4, 10**5, 10**6)]
    said = " | ".join(f"{AT[i]:,}" for i in shown)
    for title, what, unit in (
        ("seconds up to n =", "total", 1.0),
        ("µs for a row at n =", "row", 1e6),
        ("kB held at n =", "bytes", 1e-3),
    ):
        yield f"| {title} n = | {said} |"
        yield "|---" + "|--:" * len(shown) + "|"
        for name, each in found.items():
            if name != "apart":
                yield f"| {name} | " + " | ".join(f"{_short(unit * each[what][i])}" for i in shown) + " |"
        yield ""
    yield f"- Over 2,000 rows scores computed by a sum and by sorted blocks differ by at most {found['apart']:.1g}."
    for name in (OWN, *(f"α = {order}" for order in (1, 2, 3)), BLOCKS):
        ratio, compiled = (found[way]["total"][-1] / found[name]["total"][-1] for way in (SUM, COMPILED))
        times = f"{ratio:,.0f} times as long as this (the compiled one {compiled:,.0f} times)"
        said = f"{name}: up to {ROWS:,} rows the NumPy sum takes {times}"
        yield judged(f"{said}; is it at least {LEAST:g} times?", ratio >= LEAST)
    for order in (1, 2, 3):
        row, N, theory = found[f"{LEVELS} functions, α = {order}"]["row"], levels(wide(float(order))), 2.0 / (2.0 * order + 1.0)
        for start in (0, LAST):
            value = exponent(row, start)
            said = f"α = {order}, N from {N[start]:.0f} to {N[-1]:.0f}: the cost of a row grows like n^{value:.2f}"
            yield judged(f"{said}; is the exponent within {NEAR} of the theory's {theory:.2f}?", abs(value - theory) <= NEAR)
        fixed, growing, off = parts(row, N)
        yield f"- α = {order}: a row costs {1e6 * fixed:.1f} µs + {1e9 * growing:.2f} ns · N², within {off:.0%}."
    same = all(len(set(each["bytes"])) == 1 for name, each in found.items() if "functional" not in name and name != "apart")
    yield judged("are the bytes of a projection independent of n?", same)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, 2, 10.6, 5.6)
    left, right = axes[0]
    n = np.array(AT)
    for name, colour in COLOURS.items():
        left.plot(n, found[name]["total"], color=colour, linewidth=1.8)
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="processor time up to n (s)", xlim=(n[0], n[-1]))
    left.set_title("(A) up to n", loc="left")
    for order in (1, 2, 3):
        row, colour = 1e6 * np.array(found[f"{LEVELS} functions, α = {order}"]["row"]), COLOURS[f"α = {order}"]
        right.plot(n, row, color=colour, linewidth=1.8, marker=".")
        right.plot(n, row[-1] * (n / n[-1]) ** (2.0 / (2.0 * order + 1.0)), ":", color=colour, linewidth=1.4)
    right.set(xscale="log", yscale="log", xlabel="rows n", ylabel="processor time of a row (µs)", xlim=(n[0], n[-1]))
    right.set_title(f"(B) of a row, {LEVELS} functions at the end", loc="left")
    handles = [key(name, colour) for name, colour in COLOURS.items()] + [key("the theory's slope", "0.3", ":", 1.4)]
    save(figure, path, handles, 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
