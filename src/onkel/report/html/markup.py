"""Markup: every string becomes text, never markup, unless it was made here.

>>> element("p", "1 < 2 ", element("b", "<script>"), cls="note")
'<p class="note">1 &lt; 2 <b>&lt;script&gt;</b></p>'
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from onkel.report.page import escaped

EMPTY = frozenset({"meta", "br", "hr"})  # elements without content and end


class Html(str):
    """Markup, as opposed to text."""

    __slots__ = ()


def text(given: str) -> Html:
    """A string as text; invisible characters are shown as Python escapes."""
    return given if isinstance(given, Html) else Html(html.escape(escaped(given)))


def joined(parts: Iterable[str], between: str = "") -> Html:
    return Html(between.join(text(part) for part in parts))


def element(tag: str, /, *children: str, **attributes: Any) -> Html:
    """An element. The attribute `cls` is its class; a trailing underscore of a name is dropped, and others become hyphens.

    An attribute that is None or False is left out, and one that is True has no value.
    """
    given = {("class" if key == "cls" else key.rstrip("_").replace("_", "-")): value for key, value in attributes.items()}
    written = "".join(
        f" {key}" if value is True else f' {key}="{html.escape(escaped(str(value)))}"'
        for key, value in given.items()
        if value is not None and value is not False
    )
    return Html(f"<{tag}{written}>" if tag in EMPTY else f"<{tag}{written}>{joined(children)}</{tag}>")


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = (), cls: str = "",
    shown: bool = False,
) -> Html:  # fmt: skip
    """A table whose first column names the rows, in a frame of its own that scrolls if the table is too wide.

    numeric   The columns with numbers, which are aligned on the right; the first column never is.
    shown     Whether the caption is visible, or only read aloud.
    """
    right = frozenset(numeric) - {0}

    def looks(k: int) -> str | None:
        return "number" if k in right else None

    head = [element("th", heading, scope="col", cls=looks(k)) for k, heading in enumerate(headings)]
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell, cls=looks(k)) for k, cell in enumerate(row[1:], 1)))
        for row in rows
    ]
    title = element("caption", caption, cls=None if shown else "aloud")
    made = element("table", title, element("thead", element("tr", *head)), element("tbody", *body), cls=cls or None)
    return element("div", made, cls="scroll", tabindex="0", role="region", aria_label=caption)


def details(summary: str, *content: str) -> Html:
    return element("details", element("summary", summary), *content)


def embedded(ident: str, data: Any) -> Html:
    """Data for the script of the page, as JSON that cannot end the element it stands in."""
    written = json.dumps(_plain(data), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{html.escape(ident)}">{written}</script>')


def _plain(data: Any) -> Any:
    """Numbers with six digits, and None for those that are not finite."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return rounded(data)
    return data


def rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.6g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
