"""The whole page: one file that needs no network.

Its policy (Content-Security-Policy) allows the styles and the scripts that are in it, by their hashes, and nothing else: whatever a
file's names and labels contain, they cannot make the page load, send or run anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources

from onkel.report.html import answer, columns, errors, made, mixture, trust
from onkel.report.html.colours import DASHES, ROLES
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, element
from onkel.report.results import short

SECTIONS: tuple[Callable[[Contents], Section | None], ...] = (
    answer.know,
    errors.over_time,
    mixture.decided,
    columns.said_by_columns,
    trust.intervals,
    trust.probabilities,
    trust.confusion,
    trust.residuals,
    made.rows,
    made.how,
)


def page(contents: Contents) -> str:
    """The page as a string."""
    sections = [made for make in SECTIONS if (made := make(contents)) is not None]
    styles = [static("uplot.css"), colours() + static("report.css")]
    scripts = [static("uplot.js"), static("report.js")]
    result = contents.main
    links = [element("li", element("a", one.title, href=f"#{one.ident}")) for one in sections]
    nav = element("nav", element("p", short(result.source), cls="nav-title"), element("ul", *links), aria_label="Sections")
    body = [
        element("a", "Skip to the report", href="#report", cls="skip"),
        nav,
        element("main", answer.head(contents), *map(_section, sections), id="report"),
        *(Html(f"<script>{script}</script>") for script in scripts),
    ]
    title = f"{result.target} · {contents.best} · {short(result.source)}"
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="generator", content="onkel"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(styles, scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        *(Html(f"<style>{style}</style>") for style in styles),
    ]
    return f"<!doctype html>\n{element('html', element('head', *head), element('body', *body), lang='en')}\n"


def _section(section: Section) -> Html:
    title = f"{section.ident}-heading"
    return element("section", element("h2", section.title, id=title), section.body, id=section.ident, aria_labelledby=title)


def policy(styles: list[str], scripts: list[str]) -> str:
    """Only these styles and scripts."""
    allowed = f"style-src {' '.join(map(_hash, styles))}; script-src {' '.join(map(_hash, scripts))}"
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@cache
def static(name: str) -> str:
    return (resources.files("onkel.report.html") / "static" / name).read_text(encoding="utf-8")


def colours() -> str:
    """The palette as custom properties of CSS, and classes that use them."""
    light = "".join(f"--{role}:{colour.light};" for role, colour in ROLES.items())
    dark = "".join(f"--{role}:{colour.dark};" for role, colour in ROLES.items())
    rules = []
    for role in ROLES:
        dashes = f"stroke-dasharray:{' '.join(map(str, DASHES[role]))};" if role in DASHES else ""
        rules.append(f".line-{role}{{fill:none;stroke:var(--{role});{dashes}}}")
        rules.append(f".fill-{role}{{fill:var(--{role})}}")
        rules.append(f".band-{role}{{fill:var(--{role});opacity:.16}}")
        rules.append(f".dots-{role}{{stroke:var(--{role})}}")
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{''.join(rules)}\n"
