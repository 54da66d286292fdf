"""Output for people: strings from files are printed as they are, never interpreted as markup, and each stays on its line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

WIDE = 200  # characters of a line, if no terminal limits it
NARROW = 10  # smallest width of a line, in characters
VERY_WIDE = 100_000  # characters, wider than any table
FIGURE = r"(-?[\d.,]+(e[+-]?\d+)?%?( ± \S+)?( [kM]B)?|nan|-?inf)?"

Cells = Mapping[str, Mapping[str, str]]  # name -> heading -> text of the cell


class Page:
    def __init__(self, errors: bool = False) -> None:
        """A page on the error stream if `errors`, else on standard output.

        Its width is COLUMNS if that is set, else the width of the terminal, or WIDE in a pipe.
        """
        out = sys.stderr if errors else sys.stdout
        said = os.environ.get("COLUMNS", "")
        is_limited = out.isatty() or said.isdecimal()
        width = max(NARROW, int(said)) if said.isdecimal() else None if is_limited else WIDE
        self.console = Console(stderr=errors, markup=False, emoji=False, highlight=False, soft_wrap=not is_limited, width=width)

    def say(self, text: str, style: str = "") -> None:
        self.console.print(plain(text, style))

    def note(self, notes: Iterable[str]) -> None:
        for note in notes:
            self.say(f"note: {note}", style="yellow")

    def say_whole(self, text: str) -> None:
        """Print a line for the user to copy: it is never wrapped, however narrow the page."""
        self.console.print(plain(text), soft_wrap=True)

    def show(self, table: Table) -> None:
        """Print the table; if it is too wide for the page, print its cells one below the other."""
        unlimited = self.console.options.update(max_width=VERY_WIDE)
        if Measurement.get(self.console, unlimited, table).minimum <= self.console.width:
            self.console.print(table)
        else:
            for line in _cells_below_each_other(table):
                self.console.print(line)


def _cells_below_each_other(table: Table) -> Iterator[Text]:
    headings: list[Any] = [column.header for column in table.columns]
    rows: Iterator[Any] = zip(*(column.cells for column in table.columns), strict=True)
    for first, *others in rows:
        yield first
        for heading, cell in zip(headings[1:], others, strict=True):
            if cell:
                yield Text.assemble("  ", heading, ": ", cell)


def lines(rows: Cells, dim: Cells | None = None, heading: str = "learner", bold: str | None = None) -> Table:
    """A table with one line per name: first `rows`, then `dim` in grey. The line of the name `bold` is bold."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    headings = list(dict.fromkeys(key for cells in rows.values() for key in cells))
    table.add_column(plain(heading), overflow="fold")
    for key in headings:
        digits = all(re.fullmatch(FIGURE, cells.get(key, "")) for cells in rows.values())
        table.add_column(plain(key), justify="right" if digits else "left", overflow="fold")
    for style, part in (("", rows), ("dim", dim or {})):
        for name, cells in part.items():
            first = plain(name, "bold" if name == bold else "")
            table.add_row(first, *(plain(cells.get(key, "")) for key in headings), style=style)
    return table


def plain(text: str, style: str = "") -> Text:
    """Text for a page, or for a cell of a table."""
    return Text(escaped(text), style=style)


def escaped(text: str) -> str:
    r"""The text with line ends and other invisible characters as Python escapes: \n."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
