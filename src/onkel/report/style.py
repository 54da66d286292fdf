"""How every picture looks: the colours of `palette`, letters that are legible at 800 pixels, names beside their lines.

    with looks():
        figure, axes = plt.subplots()
        axes.plot(rows, error, color=Light.LEARNER, label="Auto")
        along_rows(axes)
        name_ends(axes)
        headline(figure, "Auto needs 400 rows to see the change", "rms error of the last 200 rows")

looks         a context manager, and a decorator: figures made inside have this style
headline      what the picture shows, in one sentence, and below it what is drawn
name_ends     the names of lines at their right ends, instead of a legend
along_rows    an axis of rows of the stream
ink           a colour dark enough for letters
"""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from onkel._extras import extra
from onkel.report.palette import Light

WIDTH, DPI = 8.0, 100  # inches, pixels an inch
LETTERS = 11.0  # points
LETTERS_AN_INCH = 8.6  # of a headline, before it is broken into lines
DARKENED = 0.35  # how far a colour of letters is moved towards that of the ink
LINE_HEIGHT = 1.35  # of the letters: the least distance of two names
THREADS = threading.RLock()  # the settings of matplotlib are global


@contextmanager
def looks(palette: Any = Light, letters: float = LETTERS) -> Iterator[None]:
    """Figures made inside look like ours, in the colours of `palette`, with letters of so many points. Afterwards the settings of
    matplotlib are as before."""
    check_drawing()
    import matplotlib

    with THREADS, matplotlib.rc_context(_settings(palette, letters)):
        yield


def check_drawing() -> None:
    """Refuse, before any work is done, to draw without matplotlib."""
    with extra("plot", "drawing a picture"):
        import matplotlib  # noqa: F401


def headline(figure: Any, finding: str, about: str = "") -> None:
    """The finding above the figure, and above its first axes what is drawn. Either may be empty."""
    if finding:
        lines = textwrap.fill(finding, int(LETTERS_AN_INCH * figure.get_figwidth()))
        figure.suptitle(lines, x=0.01, ha="left", weight="bold", size=LETTERS + 2.0)
    if about:
        figure.axes[0].set_title(about)


def along_rows(axes: Any, label: str = "rows of the stream") -> None:
    axes.set_xlabel(label)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def name_ends(axes: Any) -> None:
    """Write the name of each labelled line at its right end; names move up or down until none touches another.

    Call it when the limits of the axes are final.
    """
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    ends = np.array([_end(axes, line) for line in lines])
    height = LINE_HEIGHT * LETTERS / 72.0 / (axes.get_position().height * axes.figure.get_figheight())
    for line, y in zip(lines, _apart(ends, height), strict=True):
        colour = ink(line.get_color())
        axes.annotate(line.get_label(), (1.0, y), (6, 0), "axes fraction", "offset points", color=colour, va="center")


def ink(colour: str, palette: Any = Light) -> Any:
    """The colour, moved towards that of the ink, so that letters in it are legible."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (1.0 - DARKENED) * np.array(to_rgb(colour)) + DARKENED * np.array(to_rgb(palette.INK))
    return to_hex((red, green, blue))


def _end(axes: Any, line: Any) -> float:
    """The height of a line's last finite point, as a fraction of the axes."""
    x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    last = np.flatnonzero(np.isfinite(y))[-1]
    place = axes.transAxes.inverted().transform(axes.transData.transform((x[last], y[last])))[1]
    return float(np.clip(place, 0.0, 1.0))


def _apart(ends: Any, height: float) -> Any:
    """The places nearest to `ends`, in the same order, that are at least `height` from each other."""
    places, order = np.array(ends, dtype=float), np.argsort(ends, kind="stable")
    groups: list[list[int]] = []
    for k in order:
        groups.append([int(k)])
        while len(groups) > 1 and _lowest(groups[-1], ends, height) < _lowest(groups[-2], ends, height) + len(groups[-2]) * height:
            above = groups.pop()
            groups[-1] += above
    for group in groups:
        places[group] = _lowest(group, ends, height) + height * np.arange(len(group))
    return places


def _lowest(group: list[int], ends: Any, height: float) -> float:
    """The lowest place of a group of names that touch, if their mean stays where it is."""
    return float(np.mean(ends[group])) - 0.5 * height * (len(group) - 1)


def _settings(palette: Any, letters: float) -> Any:
    from cycler import cycler

    return {
        "figure.figsize": (WIDTH, 4.5),
        "figure.dpi": DPI,
        "savefig.dpi": "figure",
        "figure.constrained_layout.use": True,
        "figure.facecolor": palette.PAPER,
        "savefig.facecolor": palette.PAPER,
        "axes.facecolor": palette.PAPER,
        "font.size": letters,
        "text.color": palette.INK,
        "axes.titlesize": letters,
        "axes.titlecolor": palette.MUTED,
        "axes.titlelocation": "left",
        "axes.labelsize": letters,
        "axes.labelcolor": palette.INK,
        "axes.edgecolor": palette.MUTED,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": palette.GRID,
        "xtick.color": palette.MUTED,
        "ytick.color": palette.MUTED,
        "xtick.labelsize": letters - 1.0,
        "ytick.labelsize": letters - 1.0,
        "legend.frameon": False,
        "legend.fontsize": letters - 1.0,
        "lines.linewidth": 1.8,
        "axes.prop_cycle": cycler(color=(palette.LEARNER, *palette.OTHERS)),
    }
