"""How the pictures of this folder look."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from onkel.report.palette import COLOURS

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = COLOURS
COLOURS_KEPT = 128  # the number of colours of a picture: it takes a third of the bytes, and the eye sees no difference


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure, and its axes as an array of (rows, columns)."""
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for one in axes.flat:
        one.grid(color="0.92")
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def key(name: str, colour: str, dashes: Any = "-", width: float = 1.8) -> Line2D:
    """A line's entry in the legend."""
    return Line2D([], [], color=colour, linestyle=dashes, linewidth=width, label=name)


def ticks(axis: Any, at: Sequence[float], form: str = ",") -> None:
    """An axis with these ticks and no others."""
    axis.set_ticks(at, [f"{tick:{form}}" for tick in at])
    axis.set_ticks([], minor=True)


def save(figure: Figure, path: Path, handles: list[Line2D], columns: int) -> None:
    """Write the picture, with one legend below all panels."""
    figure.legend(handles=handles, frameon=False, loc="outside lower center", ncols=columns)
    drawn = BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(COLOURS_KEPT, dither=Image.Dither.NONE).save(path, optimize=True)
