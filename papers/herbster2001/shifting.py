"""What a radius is for: a target that changes, with a stretch of noise in between.

A stream has five stretches of 2,000 rows: first two with one function u each, then noise alone (deviation 10, where each u has
deviation 1), then two with other functions. The rows are those of streams.py, ε = 0.1. γ is a multiple of the largest ‖u‖, which
the learner is told. Theorem 5 bounds the loss of each stretch except the noisy one by κ²(γ + ‖u‖)², if ‖u‖ ≤ γ. A learner has
recovered in a stretch at the first row that ends 100 rows with a mean loss of at most 0.01. There are five streams of each kind.
Then, for one kernel, the script measures recovery after noise of other sizes and lengths, up to 20,000 rows later. Writes
shifting.png, shifting.json and shifting.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from onkel.kernels import Kernel
from onkel.measure.bounds import constrained_projection
from papers.herbster2001.streams import DIM, EPSILON, KERNELS, Array, Stream, agreeing, losses
from papers.plots import BLUE, GREEN, ORANGE, PINK, RED, key, panels, save
from papers.results import main

ROWS, NOISE, SEEDS, WINDOW, RECOVERED = 2_000, 10.0, 5, 100, 0.01
STRETCHES = ("u₁", "u₂", "noise", "u₃", "u₄")
RADII: dict[str, tuple[float | None, str, str]] = {  # the radius divided by the largest ‖u‖
    "no radius": (None, RED, "-"),
    "no radius, + Delta": (None, PINK, "--"),
    "γ = 2 max‖u‖": (2.0, ORANGE, "-"),
    "γ = max‖u‖": (1.0, BLUE, "-"),
    "γ = ½ max‖u‖": (0.5, GREEN, ":"),
}
SPIKE = 10.0  # the weight of Delta divided by k(x, x)
SIZES, LENGTHS, AFTERWARDS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0), (100, 1_000, 10_000), 20_000
SHOWN = "Additive(Exponential())"


def learners(kernel: Kernel, norm: float) -> dict[str, Any]:
    spiked = kernel + onkel.Delta(SPIKE * float(kernel.diagonal(np.ones((1, DIM)))[0]))
    return {
        name: onkel.TubeProjection(spiked if "Delta" in name else kernel, EPSILON, None if of is None else of * norm)
        for name, (of, _, _) in RADII.items()
    }


def stretches(kernel: Kernel, seed: int) -> list[Stream]:
    """The functions' rows, and between them rows of noise alone."""
    clean = [agreeing(kernel, False, ROWS, 100 * seed + i) for i in range(len(STRETCHES))]
    noise = NOISE * np.random.default_rng(seed).normal(size=ROWS)
    return [Stream(one.X, noise, one.u, one.norm) if name == "noise" else one for name, one in zip(STRETCHES, clean, strict=True)]


def run(kernel: Kernel, seed: int) -> dict[str, Any]:
    parts = stretches(kernel, seed)
    clean = [one for one, name in zip(parts, STRETCHES, strict=True) if name != "noise"]
    found: dict[str, Any] = {}
    for name, learner in learners(kernel, max(one.norm for one in clean)).items():
        state, norms, each = learner.init(DIM), [], []
        for one in parts:
            norms.append(float(np.sqrt(inner(state).norm2[0])))
            each.append(play(learner, state, one))
        found[name] = {
            "losses": [float(loss.sum()) for loss in each],
            "allowed": [allowed(learner, one, part) for one, part in zip(parts, STRETCHES, strict=True)],
            "norms": norms,
            "rows": [recovery(loss) for loss in each],
            "curve": windowed(np.concatenate(each))[WINDOW - 1 :: 20].tolist(),
        }
    return found


def inner(state: Any) -> Any:
    return getattr(state, "inner", state)


def play(learner: Any, state: Any, one: Stream) -> Array:
    return next(iter(losses(learner.learn(state, one.X, one.y), one.y, False).values()))


def allowed(learner: Any, one: Stream, part: str) -> float | None:
    """What Theorem 5 allows; None if it makes no statement."""
    if learner.radius is None or part == "noise" or one.norm > learner.radius:
        return None
    return constrained_projection(learner, one.X, one.y, one.u)


def windowed(loss: Array) -> Array:
    """The mean of the last rows, for every row."""
    sums = np.append(0.0, np.cumsum(loss))
    t = np.arange(1, len(loss) + 1)
    first = np.maximum(t - WINDOW, 0)
    return np.asarray((sums[t] - sums[first]) / (t - first))


def recovery(loss: Array) -> int | None:
    means = windowed(loss)[WINDOW - 1 :]
    good = np.flatnonzero(means <= RECOVERED)
    return int(good[0]) + WINDOW if good.size else None


def after_noise(kernel: Kernel, size: float, length: int, seed: int) -> dict[str, int | None]:
    """The number of rows until the learner has recovered from noise of this deviation and length."""
    before, one = agreeing(kernel, False, length, 100 * seed), agreeing(kernel, False, AFTERWARDS, 100 * seed + 1)
    noise = before.y + size * np.random.default_rng(seed).normal(size=length)
    found = {}
    for name, learner in learners(kernel, one.norm).items():
        if name in ("no radius", "no radius, + Delta", "γ = max‖u‖"):
            state = learner.init(DIM)
            learner.learn(state, before.X, noise)
            found[name] = recovery(play(learner, state, one))
    return found


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {"stretches": {name: [] for name in KERNELS}, "after": {}}
    jobs = [(name, seed) for name in KERNELS for seed in range(SEEDS)]
    for name, seed in track(jobs, console=Console(stderr=True)):
        found["stretches"][name].append(run(KERNELS[name], seed))
    grid = [(size, length) for size in SIZES for length in LENGTHS]
    for size, length in track(grid, console=Console(stderr=True)):
        found["after"][f"{size:g}, {length}"] = [after_noise(KERNELS[SHOWN], size, length, seed) for seed in range(SEEDS)]
    return found


def middle(rows: list[int | None], never: int) -> str:
    """The median number of rows; it may be that most never recovered."""
    value = float(np.median([np.inf if one is None else one for one in rows]))
    return f"{value:,.0f}" if np.isfinite(value) else f"> {never:,}"


def table(found: dict[str, Any]) -> Iterator[str]:
    for kernel, runs in found["stretches"].items():
        yield f"| {kernel}: loss, bound, rows to recover | " + " | ".join(STRETCHES) + " | ‖f‖ after the noise |"
        yield "|---" + "|--:" * (len(STRETCHES) + 1) + "|"
        for name in RADII:
            of = [one[name] for one in runs]
            cells = [cell(of, i) for i in range(len(STRETCHES))]
            after = np.mean([one["norms"][STRETCHES.index("noise") + 1] for one in of])
            yield f"| {name} | " + " | ".join(cells) + f" | {after:,.1f} |"
        yield ""
    yield from recoveries(found["after"])


def cell(of: list[dict[str, Any]], i: int) -> str:
    loss = f"{np.mean([one['losses'][i] for one in of]):,.0f}"
    if STRETCHES[i] == "noise":
        return loss
    bounds = [one["allowed"][i] for one in of]
    bound = "no bound" if None in bounds else f"of {np.mean(bounds):,.0f}"
    return f"{loss} {bound}, {middle([one['rows'][i] for one in of], ROWS)}"


def recoveries(after: dict[str, Any]) -> Iterator[str]:
    yield f"| {SHOWN}: rows to recover after noise of deviation | rows of noise | no radius | no radius, + Delta | γ = ‖u‖ |"
    yield "|---|--:|--:|--:|--:|"
    for size in SIZES:
        for length in LENGTHS:
            runs = after[f"{size:g}, {length}"]
            names = ("no radius", "no radius, + Delta", "γ = max‖u‖")
            cells = [middle([one[name] for one in runs], AFTERWARDS) for name in names]
            yield f"| {size:g} | {length:,} | " + " | ".join(cells) + " |"


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.6, 7.4)
    t = np.arange(WINDOW, ROWS * len(STRETCHES) + 1, 20)
    for one, (kernel, runs) in zip(axes.flat, found["stretches"].items(), strict=True):
        for name, (_, colour, dashes) in RADII.items():
            one.plot(t, np.maximum(runs[0][name]["curve"], 1e-5), dashes, color=colour, linewidth=1.5)
        for i, part in enumerate(STRETCHES):
            one.axvline(i * ROWS, color="0.6", linewidth=0.8)
            one.text((i + 0.5) * ROWS, 0.97, part, transform=one.get_xaxis_transform(), ha="center", va="top", color="0.3")
        one.set(yscale="log", xlim=(0, ROWS * len(STRETCHES)), ylim=(1e-5, 3e3))
        one.xaxis.set_major_formatter("{x:,.0f}")
        one.set_title(kernel, loc="left")
    for one in axes[:, 0]:
        one.set_ylabel(f"loss, mean of the last {WINDOW} rows")
    for one in axes[1]:
        one.set_xlabel("rows")
    save(figure, path, [key(name, colour, dashes) for name, (_, colour, dashes) in RADII.items()], 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
