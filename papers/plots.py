"""How the pictures of this folder look."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from onkel.report.palette import Light
from onkel.report.style import LETTERS, looks

BLUE, BLACK = Light.LEARNER, Light.BOUND
RED, GREEN, PINK, ORANGE, SKY = Light.OTHERS
WIDEST = 10.5  # inches; letters of wider figures are larger, since all figures are shown with the same width
COLOURS_KEPT = 128  # the number of colours of a picture: it takes a third of the bytes, and the eye sees no difference


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure, and its axes as an array of (rows, columns)."""
    with looks(letters=_letters(width)):
        figure = Figure(figsize=(width, height))
        return figure, figure.subplots(rows, columns, squeeze=False)


def key(name: str, colour: str, dashes: Any = "-", width: float = 1.8) -> Line2D:
    """A line's entry in the legend."""
    return Line2D([], [], color=colour, linestyle=dashes, linewidth=width, label=name)


def ticks(axis: Any, at: Sequence[float], form: str = ",") -> None:
    """An axis with these ticks and no others."""
    axis.set_ticks(at, [f"{tick:{form}}".replace("-", "−") for tick in at])
    axis.set_ticks([], minor=True)


def save(figure: Figure, path: Path, handles: list[Line2D], columns: int) -> None:
    """Write the picture, with one legend below all panels."""
    drawn = BytesIO()
    with looks(letters=_letters(figure.get_figwidth())):
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
        figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(COLOURS_KEPT, dither=Image.Dither.NONE).save(path, optimize=True)


def _letters(width: float) -> float:
    """The size of the letters of a figure so many inches wide."""
    return LETTERS * max(1.0, width / WIDEST)
