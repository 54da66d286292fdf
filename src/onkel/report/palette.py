"""The colours of pictures and pages: those of Okabe and Ito, which colour-blind readers can distinguish.

Their lightness differs, so they can be distinguished in grey too. Each colour means the same everywhere.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    light: str  # on white
    dark: str  # the same hue, lighter, on a dark page


OWN = Colour("#0072B2", "#4BA3DC")  # the learner; the first of several
OTHERS = (
    Colour("#D55E00", "#F0803C"),
    Colour("#009E73", "#2BC299"),
    Colour("#CC79A7", "#DE9CC0"),
    Colour("#E69F00", "#F2B63C"),
    Colour("#56B4E9", "#9AD4F5"),
    Colour("#000000", "#F2F2EE"),
)  # other learners, kinds of experts, classes
MEAN = Colour("#666666", "#A9A9A6")  # the running mean, or the most frequent label
LAST = Colour("#949494", "#7E807D")  # the last label

COLOURS = tuple(colour.light for colour in (OWN, *OTHERS))  # of lines on white
GREYS = (MEAN.light, LAST.light)  # of the baselines on white

ROLES = {"own": OWN, **{f"other{k}": colour for k, colour in enumerate(OTHERS, 1)}, "mean": MEAN, "last": LAST}
DASHES = {"mean": (6, 4), "last": (2, 3)}  # lengths of lines and gaps, for the roles whose lines are not solid


def role(k: int) -> str:
    """The role of the k-th of several things, from 0: the first has the learner's colour."""
    return "own" if k % len(COLOURS) == 0 else f"other{k % len(COLOURS)}"
