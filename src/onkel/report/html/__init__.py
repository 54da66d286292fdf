"""A result as one HTML file for people: `write("report.html", Contents(...))`.

Each file but the last few makes one part of the page from plain results, with functions that return markup.

contents    what is shown
answer      the head; errors, mixture, columns (with curves), trust, made: the sections
chart       a chart: static picture, data for the script, legend, table
markup      elements whose text is always escaped
page        all of it, with its styles and scripts from `static`
"""

from __future__ import annotations

import os
from pathlib import Path

from onkel._writing import replacing
from onkel.report.html.contents import Contents, Peer
from onkel.report.html.page import page

__all__ = ["Contents", "Peer", "page", "write"]


def write(path: str | os.PathLike[str], contents: Contents) -> Path:
    """Write the page; an existing file is replaced when the new one is complete."""
    path, made = Path(path), page(contents)
    with replacing(path) as file:
        file.write(made.encode())
    return path
