"""The lines of RESULTS.md for Zhang & Simon (2021)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from papers.lines import Line, Ours, Paper, Published, Stored
from papers.zhang_simon2021 import rates

RATES = {  # the theory's slopes, as the captions of Figures 1 and 5 have them
    "Example 1": (-4.0 / 5.0, "Example 1, black line has slope  $= -4/5$"),
    "Example 2": (-2.0 / 3.0, "Example 2, black line has slope  $= -2/3$"),
    "Example A.1": (-2.0 / 3.0, "Example A.1, black line has slope  $-2/3$"),
    "Example A.2": (-4.0 / 5.0, "Example A.2, the black line has slope  $-4/5$"),
}
WHY = {
    rates.GROWING: "The paper's N has the theory's slope because N is set to grow as the theory says.",
    rates.FOLLOWING: "The curve is smoother than its space requires, so an N that follows the data falls faster.",
    rates.DESCENT: "The paper's steps; its caption gives the same slope to all methods.",
}
CAPTION = "Both smoothing spline and online projection estimator achieve the optimal rate  $O(n^{-4/5})$"  # of Figure 4
JACKKNIFE = "three standard errors of the jackknife over the streams"


def figure1(stored: Stored) -> Iterator[Line]:
    yield from errors(stored, "figure1", "Figure 1")


def figure5(stored: Stored) -> Iterator[Line]:
    yield from errors(stored, "figure5", "Figure 5")


def errors(stored: Stored, name: str, place: str) -> Iterator[Line]:
    for example, of in stored(name).items():
        rate, quote = RATES[example.partition(",")[0]]
        for way in (rates.GROWING, rates.FOLLOWING, rates.DESCENT):
            if way in of:
                value, error = rates.slope_and_spread(of[way])
                yield Line(
                    f"{place}, {example}",
                    f"slope, {way}",
                    f"zhang_simon2021.{name}",
                    Ours.near(value, error, JACKKNIFE),
                    Published(rate, "(the theory's)", quote),
                    WHY[way],
                    ".3f",
                )
        for way in (rates.GROWING, rates.FOLLOWING):
            ends = [path["error"][-1] for path in of[way]]
            yield Line(
                f"{place}, {example}",
                f"error at 100,000 rows, {way}",
                f"zhang_simon2021.{name}",
                Ours.over(ends, f"smallest and largest of {len(ends)} streams"),
                Published(None, "no number in the text"),
                "The paper's picture has the figure; its text does not.",
                ".3g",
            )


def figure2(stored: Stored) -> Iterator[Line]:
    for example, of in stored("figure2").items():
        for rows, at in of.items():
            levels = at["ways"][rates.GROWING]["level"]
            yield Line(
                f"Figure 2, {example}",
                f"N after {int(rows):,} rows, the paper's constant",
                "zhang_simon2021.figure2",
                Ours.over(levels, f"smallest and largest of {len(levels)} streams"),
                Published(None, "by n = ⌊cN^(2α+1)⌋"),
                "The paper draws fits without numbers.",
                ".0f",
            )


def figure3(stored: Stored) -> Iterator[Line]:
    found, script = stored("figure3"), "zhang_simon2021.figure3"
    for name in ("N as in Figure 1", "α = 1", "α = 2", "α = 3"):
        ratio = found["functional SGD, NumPy sum"]["total"][-1] / found[name]["total"][-1]
        yield Line(
            "Figure 3",
            f"time of SGD as a sum over that of the projection up to 10⁶ rows, {name}",
            script,
            Ours.timed(ratio),
            Published(
                None, "“significantly faster”", "significantly faster to compute than nonparametric SGD estimator after  $n > 10^4$"
            ),
            "As the paper says; in sorted blocks SGD would be as fast as the projection.",
            ",.0f",
            False,
        )
    for order in (1, 2, 3):
        total = found[f"α = {order}"]["total"]
        value = float(np.log10(total[-1] / total[-5]))
        yield Line(
            "Figure 3",
            f"power of n of the total time from 10⁵ to 10⁶ rows, α = {order}",
            script,
            Ours.near(value, 0.05, "± 0.15 on another machine"),
            Published(1.0 + 2.0 / (2.0 * order + 1.0), "(1 + 2/(2α + 1))", "becomes nearly linear in  $n$"),
            "Rows have a cost beyond N², so the power is smaller than the theory's.",
            ".2f",
            False,
        )


def design(stored: Stored) -> Iterator[Line]:
    script = "zhang_simon2021.design"
    places = {
        "Example 1": "Figure 1",
        "Example 2": "Figure 1",
        "ten inputs": "Figure 4 (A)",
        "Example A.1": "Figure 5",
        "Example A.2": "Figure 5",
    }
    for example, of in stored("design").items():
        rate, quote = (-0.8, CAPTION) if example == "ten inputs" else RATES[example]
        for name, paths in of.items():
            value, error = rates.slope_and_spread(paths)
            place, ends = f"{places[example]}, {example}, the design as printed", [path["error"][-1] for path in paths]
            ours = Ours.near(value, error, JACKKNIFE)
            yield Line(
                place, f"slope, {name}", script, ours, Published(rate, "(the theory's)", quote), _reading(example, name), ".3f"
            )
            ours = Ours.over(ends, f"smallest and largest of {len(ends)} streams")
            why = "The paper's picture has the figure; its text does not."
            yield Line(place, f"error at 100,000 rows, {name}", script, ours, Published(None, "no number in the text"), why, ".3g")


def _reading(example: str, way: str) -> str:
    if way.startswith("parametric"):
        return "Steps that omit the correlation of the functions begin far behind, as the paper says of (76)."
    if example == "ten inputs":
        return (
            "If N counts pairs the paper's claim comes out, and the error meets that of the smoothing spline."
            if way.endswith("pairs")
            else "If N counts x, x² and single waves there are too few functions: another reading of Table 4."
        )
    return "Plain least squares on the printed functions at the printed steps."


def figure4(stored: Stored) -> Iterator[Line]:
    old: dict[str, Any] = stored("figure4")
    for name, paths in old["errors"].items():
        value, error = rates.slope_and_spread(paths)
        yield Line(
            "Figure 4 (A)",
            f"slope, {name}",
            "zhang_simon2021.figure4",
            Ours.near(value, error, JACKKNIFE),
            Published(-0.8, "(the theory's)", CAPTION),
            "Five streams; another design than the paper's, or the smoothing spline.",
            ".3f",
        )
        ends = [path["error"][-1] for path in paths]
        yield Line(
            "Figure 4 (A)",
            f"error at 100,000 rows, {name}",
            "zhang_simon2021.figure4",
            Ours.over(ends, f"smallest and largest of {len(ends)} streams"),
            Published(None, "no number in the text"),
            "The paper's picture has the figure; its text does not.",
            ".3g",
        )
    seconds = old["seconds"]
    for what in ("GAM, one fit", "GAM, on the ladder", "GAM, gridsearch"):
        yield Line(
            "Figure 4 (B)",
            f"time of refitting at 13 checkpoints over our one pass, {what}",
            "zhang_simon2021.figure4",
            Ours.timed(seconds[what][-1] / seconds["Legendre, N follows the data"][-1]),
            Published(None, "“dramatically more time”", "we note the smoothing spline method takes dramatically more time"),
            "The GAM is refitted; pyGAM in place of R's gam.",
            ".0f",
            False,
        )


PAPER = Paper(
    "zhang_simon2021",
    "Zhang & Simon (2021): an online projection estimator for nonparametric regression in reproducing kernel Hilbert spaces",
    "S3-zhang-simon2021-projection-estimator.txt",
    [figure1, figure2, figure3, design, figure4, figure5],
    settings=[
        ("Tables 1, 2 and 3", "the settings of Examples 1 and 2, as in papers/zhang_simon2021/examples.py"),
        ("Table 4", "the settings of the additive model, as in papers/zhang_simon2021/design.py"),
        ("Table 5", "the settings of Examples A.1 and A.2, as in papers/zhang_simon2021/examples.py"),
    ],
    missing=[
        (
            "Figures 1 to 5, the curves",
            "we had the paper's text without its pictures, so slopes are compared with those of the captions",
        ),
        ("Figure 4, R's package gam", "pyGAM takes its place"),
    ],
)
