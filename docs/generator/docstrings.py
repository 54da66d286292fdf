"""A docstring in this house's style, as the Markdown that MyST reads.

Docstrings are plain text: paragraphs, lists, formulas indented by four, examples, and fields as lines `name  what it is`. Formulas
become code blocks, fields definition lists, and characters that mean something to Markdown are escaped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

FIELD = re.compile(r"((?:[`*]*\w[\w.]*[`*]*)(?:, [`*]*\w[\w.]*[`*]*)*) {2,}(?!=)(\S.*)")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
SPECIAL = re.compile(r"([\\*_\[\]<>#~$|])")
PAGE = re.compile(r"^Decisions: docs/(decisions/[\w-]+\.md)$")
LABELS = ("Departs from the paper:", "Departs from the papers:", "Conditions:")


def as_markdown(docstring: str) -> str:
    """The docstring as MyST Markdown."""
    return "\n\n".join(_block(block) for block in _blocks(docstring))


def summary(docstring: str) -> str:
    """The first sentence, on one line and escaped."""
    first = next(iter(_blocks(docstring)), "")
    text = re.sub(r"\s+", " ", first)
    return escaped(re.split(r"(?<=[.:;])\s(?=[A-ZÀ-Ý`])", text)[0].rstrip(":"))


def escaped(text: str) -> str:
    """Plain text in which Markdown finds no markup, except for code between backticks."""
    parts = CODE.split(text)
    return "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts)


def _blocks(docstring: str) -> Iterator[str]:
    """The blocks of lines between blank lines; indented blocks that follow each other are one."""
    indented: list[str] = []
    for paragraph in _paragraphs(docstring):
        if paragraph.startswith("    "):
            indented.append(paragraph)
            continue
        if indented:
            yield "\n\n".join(indented)
            indented = []
        if paragraph.strip():
            yield paragraph
    if indented:
        yield "\n\n".join(indented)


def _paragraphs(docstring: str) -> Iterator[str]:
    """What stands between blank lines; an example and a labelled sentence stand alone."""
    for paragraph in re.split(r"\n\s*\n", docstring.strip("\n")):
        text, mark, example = (paragraph.partition("\n>>> ")) if not paragraph.startswith(">>> ") else (paragraph, "", "")
        yield from re.split(rf"\n(?={'|'.join(map(re.escape, LABELS))})", text)
        if mark:
            yield f">>> {example}"


def _block(block: str) -> str:
    lines = block.splitlines()
    if lines[0].startswith(">>> "):
        return f"```pycon\n{block}\n```"
    if block.startswith("    "):
        return f"```text\n{textwrap.dedent(block)}\n```"
    if page := PAGE.match(block):
        return f"Why it is so: [decisions](/{page[1]})."
    heads = [line for line in lines if not line.startswith(" ")]
    if all(FIELD.match(line) for line in heads):
        return _fields(lines)
    if all(ITEM.match(line) for line in heads):
        return "\n".join(escaped(line) if line.startswith(" ") else _item(line) for line in lines)
    if any(re.search(r"\S {3,}\S", line) for line in heads) and len(lines) > 1:
        return f"```text\n{block}\n```"  # columns aligned by hand
    text = escaped("\n".join(lines))
    for label in LABELS:
        text = re.sub(rf"(^|\n|\. ){re.escape(label)}", lambda found, label=label: f"{found[1]}**{label}**", text)  # type: ignore[misc]
    return text


def _item(line: str) -> str:
    mark, _, rest = line.partition(" ")
    return f"{mark} {escaped(rest)}"


def _fields(lines: list[str]) -> str:
    """A definition list."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if not line.startswith(" ") and (field := FIELD.match(line)):
            found.append((field[1], [field[2]]))
        else:
            found[-1][1].append(line.strip())
    listed = "\n\n".join(f"{_names(names)}\n: {escaped(' '.join(text))}" for names, text in found)
    if all(names.startswith("_") for names, _ in found):
        return f":::{{dropdown}} {len(found)} hooks, for those who write one\n\n{listed}\n:::"
    return listed


def _names(names: str) -> str:
    return ", ".join(f"`{name.strip('`* ')}`" for name in names.split(","))
