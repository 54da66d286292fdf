"""The colours of a page: those of the palette in pairs, for light and for dark pages, by what they stand for there."""

from __future__ import annotations

from typing import NamedTuple

from onkel.report.palette import Dark, Light


class Colour(NamedTuple):
    light: str  # on white
    dark: str  # on a dark page


_SEVERAL = tuple(map(Colour, (Light.LEARNER, *Light.OTHERS, Light.INK), (Dark.LEARNER, *Dark.OTHERS, Dark.INK)))
# "own" is the learner, or the first of several; the others are further learners, kinds of experts, classes
ROLES = {
    "own": _SEVERAL[0],
    **{f"other{k}": colour for k, colour in enumerate(_SEVERAL[1:], 1)},
    "mean": Colour(Light.MEAN, Dark.MEAN),
    "last": Colour(Light.LAST, Dark.LAST),
}
DASHES = {"mean": (6, 4), "last": (2, 3)}  # lengths of lines and gaps, for the roles whose lines are not solid


def role(k: int) -> str:
    """The role of the k-th of several things, from 0: the first has the learner's colour."""
    return f"other{k % len(_SEVERAL)}" if k % len(_SEVERAL) else "own"
