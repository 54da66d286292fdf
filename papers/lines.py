"""A line of RESULTS.md: a figure of ours beside the published one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TIMES = 2.0  # a time is repeated if it is within this factor


@dataclass(frozen=True)
class Ours:
    """A figure, and the range in which a repetition should lie."""

    value: float
    low: float
    high: float
    spread: str  # what the range is

    @classmethod
    def exact(cls, value: float) -> Ours:
        """No chance is involved."""
        return cls(value, value, value, "no chance involved")

    @classmethod
    def over(cls, values: Sequence[float], what: str) -> Ours:
        """The mean of some runs, and the smallest and largest of them."""
        return cls(float(np.mean(values)), float(np.min(values)), float(np.max(values)), what)

    @classmethod
    def near(cls, value: float, error: float, what: str) -> Ours:
        """A fitted value, and three standard errors to each side."""
        return cls(value, value - 3.0 * error, value + 3.0 * error, what)

    @classmethod
    def timed(cls, value: float) -> Ours:
        """A time, or a ratio of times."""
        return cls(value, value / TIMES, value * TIMES, f"a time: within a factor of {TIMES:g} on another machine")


@dataclass(frozen=True)
class Published:
    """A figure, or a statement without one, and the words of the paper that have it."""

    value: float | None
    words: str = ""  # what to print in place of a number, or after it
    quote: str = ""  # as it stands in the text of the paper

    def told(self, form: str) -> str:
        number = "" if self.value is None else told(self.value, form)
        return f"{number} {self.words}".strip()


@dataclass(frozen=True)
class Line:
    place: str  # of the paper: "Table 2, german"
    what: str
    script: str
    ours: Ours
    published: Published
    why: str  # one sentence: what explains the difference, or what the agreement means
    form: str = ".2f"
    quick: bool = True  # whether a quick run measures the same thing


@dataclass(frozen=True)
class Paper:
    folder: str
    title: str
    text: str  # the name of the file with its text, for a check of the quotations
    parts: list[Callable[[Stored], Iterator[Line]]]  # one for each stored result or two
    settings: list[tuple[str, str]] = field(
        default_factory=list
    )  # tables and figures that hold no results, and what stands in them
    missing: list[tuple[str, str]] = field(default_factory=list)  # what cannot be had here, and why


def lines(paper: Paper, stored: Stored) -> list[Line]:
    """The lines of a paper, without those of results that are not stored, as after a run of a few scripts."""
    found: list[Line] = []
    for part in paper.parts:
        with suppress(FileNotFoundError):
            found += part(stored)
    return found


def told(value: float, form: str) -> str:
    text = f"{value:{form}}".replace("-", "−")
    return text.lstrip("−") if not text.strip("−0.%") else text


class Stored:
    """The results of one paper's scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> Any:
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def cell(self, name: str, row: Iterable[str], column: str) -> float:
        """A number of a page that a script has written: the row that begins with these cells, the column with this head."""
        head: list[str] = []
        for line in (self.folder / f"{name}.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if column in cells:
                head = cells
            elif head and cells[: len(list(row))] == list(row):
                return float(re.sub(r"[,%]", "", cells[head.index(column)]))
        raise LookupError(f"{name}.md has no row {' | '.join(row)} with a column {column}")
