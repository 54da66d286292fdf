"""Bars and small curves inside the cells of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onkel._types import Vector
from onkel.report.html.chart import path
from onkel.report.html.markup import Html, element

SPARK_WIDTH, SPARK_HEIGHT = 96, 24
SPARK_POINTS = 60


def bar(values: Sequence[float], largest: float) -> Html:
    """The first value as a bar, the second as a longer, lighter one behind it; values below 0 have no bar."""
    looks = ("bar", "bar light")
    drawn = [
        element("rect", x=0, y=3, height=10, width=f"{_share(value, largest):.2f}%", cls=look)
        for value, look in reversed(list(zip(values, looks, strict=False)))
        if math.isfinite(value)
    ]
    return element("svg", *drawn, width="100%", height=16, cls="bars", aria_hidden="true")


def _share(value: float, largest: float) -> float:
    return 100.0 * min(1.0, max(0.0, value / largest)) if largest > 0.0 else 0.0


def spark(means: Vector, lows: Vector, highs: Vector) -> Html:
    """A small curve of the means along the stream, over a band from the smallest to the largest values."""
    if np.count_nonzero(np.isfinite(means)) < 2:
        return Html("")
    x, mean, low, high = _thinned(means, lows, highs)
    there = np.isfinite(mean)
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    if top <= bottom:
        bottom, top = bottom - 0.5, top + 0.5

    def up(y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(SPARK_HEIGHT - 2 - (y - bottom) / (top - bottom) * (SPARK_HEIGHT - 4))

    across = x * (SPARK_WIDTH - 2) + 1
    edge = [*zip(across, up(high), strict=True), *zip(across[::-1], up(low)[::-1], strict=True)]
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in edge if math.isfinite(b))
    parts = [element("polygon", points=points, cls="range"), element("path", d=path(across, up(mean), there), cls="line-own")]
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}",
        width=SPARK_WIDTH,
        height=SPARK_HEIGHT,
        cls="spark",
        aria_hidden="true",
    )


def _thinned(means: Vector, lows: Vector, highs: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """At most SPARK_POINTS points: means of neighbours, and the smallest and the largest of their values."""
    groups = [
        part for part in np.array_split(np.arange(len(means)), min(len(means), SPARK_POINTS)) if np.isfinite(means[part]).any()
    ]
    x = np.array([part.mean() for part in groups]) / max(1, len(means) - 1)
    return (
        x,
        np.array([np.nanmean(means[part]) for part in groups]),
        np.array([np.nanmin(lows[part]) for part in groups]),
        np.array([np.nanmax(highs[part]) for part in groups]),
    )
