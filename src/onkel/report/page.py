"""Where people read: texts stand there as they are, never as markup, and each on its line."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 200  # characters of a line where nobody's terminal limits it


class Page:
    def __init__(self, errors: bool = False) -> None:
        """As wide as the terminal, or wide enough in a pipe; on the error stream, or for results."""
        out = sys.stderr if errors else sys.stdout
        width = None if out.isatty() else WIDE
        self.console = Console(stderr=errors, markup=False, emoji=False, highlight=False, soft_wrap=True, width=width)

    def say(self, text: str, style: str = "") -> None:
        self.console.print(plain(text, style))

    def show(self, table: Table) -> None:
        self.console.print(table)


def plain(text: str, style: str = "") -> Text:
    """For a page or the cell of a table."""
    return Text(escaped(text), style=style)


def escaped(text: str) -> str:
    r"""Ends of lines and other signs that cannot be seen, as Python writes them: \n."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
