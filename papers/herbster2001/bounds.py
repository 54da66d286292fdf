"""Losses of the projection algorithms compared with what Theorems 2 to 6 and equation 18 allow, on streams in which every label
agrees with some function u.

The streams are those of streams.py. For theorems without a radius they have 2,000 rows with one u. For theorems with a radius γ
they have five stretches of 400 rows, each with a u of its own, and γ is the largest ‖u‖. There are ten streams of each kind. The
bounds are those of `onkel.measure.bounds`. The last column is a stream that reaches them: orthogonal rows, or, with a radius, one
row, with f at one end of the ball of radius γ and u at the other. Writes bounds.png, bounds.json and bounds.md.
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
from onkel.measure.bounds import constrained_projection, projection
from papers.herbster2001.streams import EPSILON, KERNELS, Stream, agreeing, losses
from papers.plots import BLUE, GREEN, ORANGE, RED, key, panels, save
from papers.results import main, spread

ROWS, STRETCHES, SEEDS, LATER = 2_000, 5, 10, 100
STARTS = [0, *np.unique(np.round(np.geomspace(1, ROWS - 1, 40)).astype(int)).tolist()]
COLOURS = dict(zip(KERNELS, (BLUE, GREEN, ORANGE, RED), strict=True))
EXTREME = "the worst stream"


def learner(kernel: Kernel, margin: bool, radius: float | None = None, epsilon: float = EPSILON) -> Any:
    return onkel.MarginProjection(kernel, radius) if margin else onkel.TubeProjection(kernel, epsilon, radius)


def one_target(kernel: Kernel, margin: bool, seed: int) -> dict[str, Any]:
    """The losses so far, the losses from each of several rows to the end, and the bounds on these."""
    stream, model = agreeing(kernel, margin, ROWS, seed), learner(kernel, margin)
    state, scores, allowed = model.init(stream.X.shape[1]), [], []
    for start, end in zip(STARTS, [*STARTS[1:], ROWS], strict=True):
        allowed.append(projection(model, stream.X[start:], stream.y[start:], stream.u, state))
        scores.append(model.learn(state, stream.X[start:end], stream.y[start:end]))
    of = losses(np.concatenate(scores), stream.y, margin)
    sums = {name: np.append(0.0, np.cumsum(each)) for name, each in of.items()}
    return {
        "allowed": allowed,
        "so far": {name: total[STARTS].tolist() for name, total in sums.items()},
        "to come": {name: (total[-1] - total[STARTS]).tolist() for name, total in sums.items()},
    }


def changing_target(kernel: Kernel, margin: bool, seed: int) -> dict[str, Any]:
    """The loss of each stretch, and its bound."""
    stretches: list[Stream] = [agreeing(kernel, margin, ROWS // STRETCHES, 1000 * seed + i) for i in range(STRETCHES)]
    model = learner(kernel, margin, radius=max(one.norm for one in stretches))
    state, found = model.init(stretches[0].X.shape[1]), list[dict[str, float]]()
    for one in stretches:
        of = losses(model.learn(state, one.X, one.y), one.y, margin)
        found.append({name: float(each.sum()) for name, each in of.items()})
    allowed = [constrained_projection(model, one.X, one.y, one.u) for one in stretches]
    return {"allowed": allowed, "losses": {name: [one[name] for one in found] for name in found[0]}}


def extreme(margin: bool) -> dict[str, list[float]]:
    """The loss divided by the bound on the two streams that reach the bounds, one without and one with a radius."""
    X, y = np.eye(50), -np.ones(50)  # a score of 0 counts as +1
    model = learner(onkel.Linear(), margin, epsilon=0.0)
    of = losses(model.learn(model.init(50), X, y), y, margin) if margin else {"tube": y**2}
    free = [float(each.sum()) / projection(model, X, y, onkel.Start(X, y)) for each in of.values()]
    kind = onkel.MarginProjection if margin else onkel.TubeProjection
    ends = kind(onkel.Linear(), radius=1.0, start=onkel.Start([[1.0]], [-1.0]), **({} if margin else {"epsilon": 0.0}))
    score = ends.learn(ends.init(1), [[1.0]], [1.0])
    allowed = constrained_projection(ends, [[1.0]], [1.0], onkel.Start([[1.0]], [1.0]))
    of = losses(score, np.ones(1), margin) if margin else {"tube": (1.0 - score) ** 2}
    return {"free": free, "radius": [float(each.sum()) / allowed for each in of.values()]}


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    jobs = [(name, margin) for margin in (True, False) for name in KERNELS]
    for name, margin in track(jobs, console=Console(stderr=True)):
        kernel = KERNELS[name]
        found.setdefault(task(margin), {})[name] = {
            "one": [one_target(kernel, margin, seed) for seed in range(SEEDS)],
            "changing": [changing_target(kernel, margin, seed) for seed in range(SEEDS)],
        }
    return found | {"extreme": {task(margin): extreme(margin) for margin in (True, False)}}


def task(margin: bool) -> str:
    return "MarginProjection" if margin else "TubeProjection"


def table(found: dict[str, Any]) -> Iterator[str]:
    yield f"| loss / bound, {SEEDS} streams | " + " | ".join(KERNELS) + f" | {EXTREME} |"
    yield "|---" + "|--:" * (len(KERNELS) + 1) + "|"
    for margin, theorem in ((True, "Theorem 2"), (False, "Theorems 3 and 6")):
        of, worst = found[task(margin)], found["extreme"][task(margin)]["free"]
        for i, loss in enumerate(names(of)):
            cells = [spread(ratios(of[name], loss, 0), ".2f") for name in KERNELS]
            yield f"| {theorem}: {loss} | " + " | ".join(cells) + f" | {worst[i]:.2f} |"
    at = STARTS.index(min(STARTS, key=lambda start: abs(start - LATER)))
    for margin in (True, False):
        of = found[task(margin)]
        for loss in names(of):
            cells = [spread(ratios(of[name], loss, at), ".2f") for name in KERNELS]
            yield f"| equation 18 from row {STARTS[at] + 1} on: {loss} | " + " | ".join(cells) + " | |"
    for margin, theorem in ((True, "Theorem 4"), (False, "Theorem 5")):
        of, worst = found[task(margin)], found["extreme"][task(margin)]["radius"]
        for i, loss in enumerate(names(of)):
            cells = [spread([ratio(one, loss) for one in of[name]["changing"]], ".3f") for name in KERNELS]
            yield f"| {theorem}, the closest of {STRETCHES} stretches: {loss} | " + " | ".join(cells) + f" | {worst[i]:.2f} |"
    yield ""
    yield from numbers(found)


def numbers(found: dict[str, Any]) -> Iterator[str]:
    yield "| loss and bound, mean | " + " | ".join(KERNELS) + " |"
    yield "|---" + "|--:" * len(KERNELS) + "|"
    for margin in (True, False):
        of = found[task(margin)]
        for loss in names(of):
            cells = []
            for name in KERNELS:
                total = np.mean([one["to come"][loss][0] for one in of[name]["one"]])
                cells.append(f"{total:,.1f} of {np.mean([one['allowed'][0] for one in of[name]['one']]):,.0f}")
            yield f"| {task(margin)}, one u: {loss} | " + " | ".join(cells) + " |"
        for loss in names(of):
            cells = []
            for name in KERNELS:
                total = np.mean([one["losses"][loss] for one in of[name]["changing"]])
                cells.append(f"{total:,.1f} of {np.mean([one['allowed'] for one in of[name]['changing']]):,.0f}")
            yield f"| {task(margin)}, a radius, a stretch: {loss} | " + " | ".join(cells) + " |"


def names(of: dict[str, Any]) -> list[str]:
    return list(next(iter(of.values()))["one"][0]["to come"])


def ratios(of: dict[str, Any], loss: str, at: int) -> list[float]:
    return [one["to come"][loss][at] / one["allowed"][at] for one in of["one"]]


def ratio(one: dict[str, Any], loss: str) -> float:
    return float(np.max(np.array(one["losses"][loss]) / np.array(one["allowed"])))


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.6, 7.6)
    t = np.array(STARTS)
    for row, margin in zip(axes, (True, False), strict=True):
        of = found[task(margin)]
        loss = names(of)[0]
        for place, (name, colour) in enumerate(COLOURS.items()):
            one, dashes = of[name]["one"][0], (3.0 * place, (3.0, 9.0))  # side by side where two bounds are equal
            row[0].plot(t, positive(one["so far"][loss]), color=colour, linewidth=1.7)
            row[0].axhline(one["allowed"][0], color=colour, linewidth=1.6, linestyle=dashes)
            row[1].plot(t + 1, positive(one["to come"][loss]), color=colour, linewidth=1.7)
            row[1].plot(t + 1, one["allowed"], "--", color=colour, linewidth=1.2)
        row[0].set(xscale="log", yscale="log", xlabel="rows", ylabel=f"Σ {loss}", xlim=(1, ROWS))
        row[0].set_title(f"{task(margin)}: so far, and Theorem {'2' if margin else '6'}", loc="left")
        row[1].set(xscale="log", yscale="log", xlabel="from row s on", xlim=(1, ROWS))
        row[1].set_title("still to come from row s on, and equation 18", loc="left")
    handles = [key(name, colour) for name, colour in COLOURS.items()]
    save(figure, path, [*handles, key("measured", "0.3"), key("bound", "0.3", "--", 1.2)], 3)


def positive(values: list[float]) -> Any:
    """The values with every 0 replaced, because a logarithmic axis has no place for 0."""
    each = np.array(values)
    return np.where(each > 1e-9, each, np.nan)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
