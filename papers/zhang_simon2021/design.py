"""The paper's designs as printed: errors in Example 1, Example 2, the additive model, A.1 and A.2, by plain least squares.

    Example 1      sin 2πjx, cos 2πjx                                    n = ⌊0.2 N⁵⌋        Figure 1 (A)
    Example 2      √2 sin((2j−1)πx/2)                                    n = ⌊0.5 N³⌋        Figure 1 (B)
    ten inputs     x, x², sin 2πjx, cos 2πjx of each input, eq. (85)     n = ⌊0.2 N⁵⌋        Figure 4 (A)
    A.1            1, √2 sin((2j−1)πx/2), eq. (91)                       n = ⌊0.5 N³⌋        Figure 5 (A)
    A.2            1, x, x², sin 2πjx, cos 2πjx, eq. (95)                n = ⌊N⁵/30⌋         Figure 5 (B)

Where functions come in pairs, N may count pairs or single functions; both are shown. In the additive model N counts x and x² too if
it counts functions, and not if it counts pairs; in A.1 and A.2 it never counts 1, x and x². Example 2 also has the paper's
parametric stochastic gradient descent (76), θ ← θ + ε_n ψ (y − f(x)), with ε_n = c n^(−½) and the c that is best on three other
streams. Where N counts all functions there is also `MercerProjection` with lam = 1e-9, which is least squares without a ridge as
long as there are more rows than functions. The noise of Example 2 and the additive model has variance 5. Errors are means over 15
streams. Writes design.png, design.json and design.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from rich.console import Console
from rich.progress import track

import onkel
from onkel._jit import hot
from onkel.features.mercer import System
from papers.plots import BLACK, BLUE, GREEN, ORANGE, RED, key, panels, save
from papers.results import main
from papers.zhang_simon2021 import rates
from papers.zhang_simon2021.examples import FIRST, FOURTH, SECOND, THIRD, UNIT, Array, Example
from papers.zhang_simon2021.figure4 import ADDITIVE
from papers.zhang_simon2021.rates import CHECKPOINTS, REPETITIONS

PLAIN = 1e-9  # the ridge of least squares that has none: it only keeps the matrix positive
STEPS = tuple(2.0 ** np.arange(-7.0, 1.0))  # c of the parametric gradient descent
OTHERS = 3  # streams on which c is chosen
PAIRS, SINGLES, DESCENT, ONKEL = "N counts pairs", "N counts functions", "parametric SGD (76)", "MercerProjection, lam = 1e-9"
COLOURS = {PAIRS: BLUE, SINGLES: GREEN, DESCENT: ORANGE, ONKEL: RED}
SINE, CIRCLE = onkel.Sine(UNIT), onkel.Periodic(UNIT, constant=False)


@dataclass(frozen=True)
class Design:
    example: Example
    system: System
    rate: float  # c of n = ⌊c N^power⌋
    power: float
    fixed: tuple[int, int] = (0, 0)  # functions of an input that N does not count, if it counts pairs and if it counts functions
    paired: bool = True

    def levels(self, n: int) -> int:
        """N after n rows."""
        return int((n / self.rate) ** (1.0 / self.power) * (1.0 + 1e-12))

    def width(self, n: int, pairs: bool) -> int:
        """The number of functions after n rows."""
        counted = self.fixed[0] + 2 * self.levels(n) if pairs else self.fixed[1] + self.levels(n)
        return self.system.size(counted, self.example.stream(1, 0)[0].shape[1])


DESIGNS = {
    "Example 1": Design(FIRST, CIRCLE, 0.2, 5.0),
    "Example 2": Design(SECOND, SINE, 0.5, 3.0, paired=False),
    "ten inputs": Design(ADDITIVE, onkel.AdditiveSystem(onkel.WithPolynomials(CIRCLE, 2)), 0.2, 5.0, fixed=(2, 0)),
    "Example A.1": Design(THIRD, onkel.WithPolynomials(SINE), 0.5, 3.0, fixed=(0, 1), paired=False),
    "Example A.2": Design(FOURTH, onkel.WithPolynomials(CIRCLE, 2), 1.0 / 30.0, 5.0, fixed=(3, 3)),
}
SLOPES = {"Example 1": -0.8, "Example 2": -2.0 / 3.0, "ten inputs": -0.8, "Example A.1": -2.0 / 3.0, "Example A.2": -0.8}


def least_squares(design: Design, pairs: bool) -> rates.Way:
    """Σ ψψᵀ and Σ yψ of all functions, of which the first few are solved for at each checkpoint."""

    def path(example: Example, seed: int) -> rates.Path:
        (X, y), fresh = example.stream(CHECKPOINTS[-1], seed), example.fresh(seed)
        most = design.width(CHECKPOINTS[-1], pairs)
        A, b, Psi = PLAIN * np.eye(most), np.zeros(most), design.system.functions(fresh, most)
        found = rates.Path(error=[], level=[])
        for start, end in zip((0, *CHECKPOINTS), CHECKPOINTS, strict=False):
            for rows in np.array_split(np.arange(start, end), 1 + (end - start) // 4096):
                Z = design.system.functions(X[rows], most)
                A, b = A + Z.T @ Z, b + Z.T @ y[rows]
            r = design.width(end, pairs)
            coef = scipy.linalg.solve(A[:r, :r], b[:r], assume_a="pos")
            found["error"].append(example.error(Psi[:, :r] @ coef, fresh))
            found["level"].append(design.levels(end))
        return found

    return path


@hot
def _descend(Psi: Array, y: Array, first: int, width: int, step: float, theta: Array) -> None:
    for i in range(len(y)):
        residual = y[i]
        for j in range(width):
            residual -= theta[j] * Psi[i, j]
        size = step / np.sqrt(first + i + 1.0) * residual
        for j in range(width):
            theta[j] += size * Psi[i, j]


def descent(design: Design, step: float) -> rates.Way:
    def path(example: Example, seed: int) -> rates.Path:
        (X, y), fresh = example.stream(CHECKPOINTS[-1], seed), example.fresh(seed)
        most = design.width(CHECKPOINTS[-1], False)
        theta, Psi, found = np.zeros(most), design.system.functions(fresh, most), rates.Path(error=[])
        starts = sorted({int(np.ceil(design.rate * N**design.power)) for N in range(1, most + 1)} | set(CHECKPOINTS) | {0})
        for start, end in pairwise(starts):
            if end > CHECKPOINTS[-1]:
                break
            width = design.width(max(start, 1), False)
            _descend(design.system.functions(X[start:end], most), y[start:end], start, width, step, theta)
            if end in CHECKPOINTS:
                found["error"].append(example.error(Psi[:, :width] @ theta[:width], fresh))
        return found

    return path


def best_step(design: Design) -> float:
    """The c with the least error after the last row, on streams that are not counted. A step that is too long diverges."""

    def last(step: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            errors = [descent(design, step)(design.example, 1000 + seed)["error"][-1] for seed in range(OTHERS)]
        return float(np.nan_to_num(np.mean(errors), nan=np.inf))

    return float(min(STEPS, key=last))


def learner(design: Design) -> onkel.MercerProjection:
    """N counts functions."""
    return onkel.MercerProjection(
        design.system, design.levels(CHECKPOINTS[-1]), design.rate, smoothness=0.5 * (design.power - 1.0), lam=PLAIN
    )


def ways(name: str, design: Design) -> dict[str, Callable[[Example, int], rates.Path]]:
    found = {PAIRS: least_squares(design, True)} if design.paired else {}
    found[SINGLES] = least_squares(design, False)
    if name == "Example 2":
        found[DESCENT] = descent(design, best_step(design))
    if design.fixed[1] == 0:
        found[ONKEL] = rates.learnt(learner(design))
    return found


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, design in DESIGNS.items():
        contenders = ways(name, design)
        for way in track(contenders, description=name, console=Console(stderr=True)):
            found.setdefault(name, {})[way] = [contenders[way](design.example, seed) for seed in range(REPETITIONS)]
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, of in found.items():
        yield from rates.table(name, of)


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 3, 11.4, 7.6)
    n = np.array(CHECKPOINTS)
    for one, (name, of) in zip(axes.flat, found.items(), strict=False):
        for way, paths in of.items():
            errors = np.array([stream["error"] for stream in paths])
            one.plot(n, errors.mean(axis=0), "--" if way == ONKEL else "-", color=COLOURS[way], linewidth=1.8)
            one.fill_between(n, *np.quantile(errors, (0.25, 0.75), axis=0), color=COLOURS[way], alpha=0.12, linewidth=0)
        start = 0.4 * min(rates.mean(paths)[0] for paths in of.values())
        one.plot(n, start * (n / n[0]) ** SLOPES[name], color=BLACK, linewidth=1.2)
        one.set(xscale="log", yscale="log", xlabel="rows n", ylabel=rates.ERROR, xlim=(n[0], n[-1]))
        one.set_title(name, loc="left")
    axes[1, 2].set_axis_off()
    handles = [key(way, colour, "--" if way == ONKEL else "-") for way, colour in COLOURS.items()]
    save(figure, path, [*handles, key("the theory's slope", BLACK, "-", 1.2)], 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
