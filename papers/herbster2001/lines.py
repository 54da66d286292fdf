"""The lines of RESULTS.md for Herbster (2001), whose figures are pseudo-code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from papers.lines import Line, Ours, Paper, Published, Stored


def cost(stored: Stored) -> Iterator[Line]:
    found, script = stored("cost"), "herbster2001.cost"
    for name in ("Spline(1)", "Exponential(10)"):
        for dim in (1, 8):
            of = found[f"{name}, {dim}: sorted blocks"]
            first, last = of["t"][0], of["t"][-1]
            yield Line(
                "Figure 1",
                f"a trial at {last:,} points over one at {first:,}, {name}, {dim} {'input' if dim == 1 else 'inputs'}",
                script,
                Ours.timed(of["seconds"][-1] / of["seconds"][0]),
                Published(
                    float(np.log(last) / np.log(first)), "(ratio of the logarithms)", "requires O(m) space but only O(log m) time"
                ),
                "Far below the factor of m; the rest of the growth is memory that leaves the cache.",
                ".1f",
                False,
            )
            slow = found[f"{name}, {dim}: NumPy sum"]
            at = slow["t"][-1]
            yield Line(
                "Figure 1",
                f"the usual sum over sorted blocks at {at:,} points, {name}, {dim} {'input' if dim == 1 else 'inputs'}",
                script,
                Ours.timed(slow["seconds"][-1] / of["seconds"][of["t"].index(at)]),
                Published(None, "O(m) over O(log m)"),
                "The sum is NumPy's, over all points.",
                ",.0f",
                False,
            )


def bounds(stored: Stored) -> Iterator[Line]:
    found, script = stored("bounds"), "herbster2001.bounds"
    theorems = {"MarginProjection": ("Theorem 2", "Theorem 4"), "TubeProjection": ("Theorems 3 and 6", "Theorem 5")}
    for task, (one, moving) in theorems.items():
        kernels = found[task]
        losses = list(next(iter(kernels.values()))["one"][0]["to come"])
        for at, loss in enumerate(losses):
            for kernel, of in kernels.items():
                bound = [run["allowed"][0] for run in of["one"]]
                if at == 0:
                    yield Line(
                        one,
                        f"what the bound allows in the first stream, {kernel}",
                        script,
                        Ours.exact(bound[0]),
                        Published(None, "R²‖u‖²"),
                        "The u that made the stream's labels.",
                        ".1f",
                    )
                ratios = [run["to come"][loss][0] / run["allowed"][0] for run in of["one"]]
                yield Line(
                    one,
                    f"{loss} over the bound, {kernel}",
                    script,
                    Ours.over(ratios, f"smallest and largest of {len(ratios)} streams"),
                    Published(1.0, "at most"),
                    "Random streams, in which every label agrees with a known function.",
                    ".3f",
                )
            for theorem, kind in ((one, "free"), (moving, "radius")):
                worst = found["extreme"][task][kind][at]
                why = (
                    "Reached exactly, so the bound cannot be improved."
                    if worst > 0.999
                    else "The worst stream that we found; the others of these bounds are reached exactly."
                )
                yield Line(
                    theorem,
                    f"{loss} over the bound, a stream made for it",
                    script,
                    Ours.exact(worst),
                    Published(1.0, "at most"),
                    why,
                    ".3f",
                )


def shifting(stored: Stored) -> Iterator[Line]:
    found, script = stored("shifting")["stretches"]["Additive(Exponential())"], "herbster2001.shifting"
    for way in ("no radius", "γ = max‖u‖"):
        for stretch, name in ((1, "without noise"), (3, "after 2,000 rows of noise")):
            losses = [run[way]["losses"][stretch] for run in found]
            bound = [run[way]["allowed"][stretch] for run in found]
            told = Published(None, "no bound") if bound[0] is None else Published(float(np.mean(bound)), "at most")
            yield Line(
                "Theorem 5",
                f"loss of 2,000 rows {name}, {way}, Exponential",
                script,
                Ours.over(losses, f"smallest and largest of {len(losses)} streams"),
                told,
                "Only after noise does the radius matter.",
                ",.0f",
            )


def real(stored: Stored) -> Iterator[Line]:
    found, script = stored("real"), "herbster2001.real"
    for name, of in found.items():
        for learner in ("NORMA, splines", "NORMA, exponentials", "NORMA, linear", "PKAWV, linear"):
            yield Line(
                f"real data, {name}",
                f"root mean square error of {learner}, {of['error']}",
                script,
                Ours.exact(of["learners"][learner]["root"]),
                Published(None, "no experiment in the paper"),
                "One pass, every row scored before it is learnt.",
                ".4g",
            )


def additive(stored: Stored) -> Iterator[Line]:
    for name, of in stored("additive").items():
        for learner, roots in of["learners"].items():
            yield Line(
                f"real data, {name}",
                f"root mean square error of {learner}, {of['error']}",
                "herbster2001.additive",
                Ours.over(roots, f"smallest and largest of {len(roots)} orders of the rows"),
                Published(None, "not in the paper"),
                "Every row scored before it is learnt; no setting was tuned but the step of NORMA.",
                ".4g",
            )


PAPER = Paper(
    "herbster2001",
    "Herbster (2001): learning additive models online with fast evaluating kernels",
    "S2-herbster2001-additive.txt",
    [cost, bounds, shifting, real, additive],
    settings=[("Figures 2 to 4", "the projection algorithms as pseudo-code; the learners are compared with tests/oracle")],
    missing=[
        ("tables and curves", "the paper has no experiments; the lines test its theorems and its claim on the cost of a trial")
    ],
)
