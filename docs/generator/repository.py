"""Pages that live elsewhere in the repository: the glossary, the changelog, how to cite, the reports on papers.

They are copied into the site, and their links follow: to the page of the site that holds the file, or, where there is none, to the
name of the file.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from docs.generator import citation
from docs.generator.reference import write_changed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = (
    "After `make setup`, `python` in a command of this page is `.venv/bin/python`, and matplotlib, which draws the pictures, is "
    "installed. Elsewhere: `pip install 'onkel[plot]'`."
)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")

PAPERS = ("jezequel2019", "calandriello2017", "forks", "herbster2001", "zhang_simon2021")
COPIES = {
    ROOT / "GLOSSARY.md": DOCS / "project/glossary.md",
    ROOT / "CONTRIBUTING.md": DOCS / "project/contributing.md",
    ROOT / "CHANGELOG.md": DOCS / "project/changelog.md",
    ROOT / "CITATION.cff": DOCS / "project/citing.md",
    ROOT / "RESULTS.md": DOCS / "project/results.md",
    **{ROOT / f"papers/{paper}/README.md": DOCS / f"papers/{paper}.md" for paper in PAPERS},
    **{path: DOCS / f"papers/{path.parent.name}-{path.name}" for paper in PAPERS for path in (ROOT / "papers" / paper).glob("*.md")
       if path.name != "README.md"},
}  # fmt: skip


def copy() -> None:
    """Write the copies, and put the pictures that they show beside them."""
    for source, page in COPIES.items():
        write_changed(page, copied(source))


def copied(source: Path) -> str:
    """The text of the page that is made of this file."""
    text, page = source.read_text(), COPIES[source]
    if source.suffix == ".cff":
        return citation.page(text)
    text = relinked(text, source, page)
    if page.parent.name != "papers":
        return text
    title, _ = _cut((source.parent / "README.md").read_text())
    own, rest = _cut(text)
    if page.stem not in PAPERS:  # a table that a report links to
        return f"# {title}: {own or _words(source)}\n\nPart of the [report on this paper]({source.parent.name}.md).\n\n{rest}"
    parts = [f"{_words(path)} <{goal.stem}>" for path, goal in COPIES.items() if path.parent == source.parent and path != source]
    toc = "\n".join(["```{toctree}", ":hidden:", "", *parts, "```"])
    about, _, report = rest.partition("\n\n")
    return f"# {title}\n\n{about}\n\n{PYTHON}\n\n{report}\n{toc}\n"


def _words(path: Path) -> str:
    """The name of a file as words: Figure 1, Heavy tails."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", path.stem.replace("_", " ")).capitalize()


def _cut(text: str) -> tuple[str, str]:
    """The title of a page, empty if it has none, and the rest."""
    first, _, rest = text.partition("\n")
    return (first.removeprefix("# ").strip(), rest.lstrip("\n")) if first.startswith("# ") else ("", text)


def relinked(text: str, source: Path, page: Path) -> str:
    """The text of `source` with links that are right on `page`."""

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        if re.match(r"\w+:", target) or target.startswith("/"):
            return found[0]
        file = (source.parent / target).resolve()
        if picture:
            return f"![{words}]({_beside(file, page)})"
        goal = COPIES.get(file, file)
        if goal.suffix in (".md", ".rst") and goal.is_relative_to(DOCS):
            return f"[{words}]({os.path.relpath(goal, page.parent)}{anchor or ''})"
        name = f"`{file.relative_to(ROOT)}`" if file.is_relative_to(ROOT) else words
        return name if words.strip("`") in (target, file.name) else f"{words} ({name})"

    return LINK.sub(link, text)


def _beside(picture: Path, page: Path) -> str:
    """A picture inside the site: as it is, or a copy."""
    if picture.is_relative_to(DOCS):
        return os.path.relpath(picture, page.parent)
    copied = DOCS / "papers/img" / f"{picture.parent.name}-{picture.name}"
    copied.parent.mkdir(parents=True, exist_ok=True)
    if not copied.exists() or copied.read_bytes() != picture.read_bytes():
        shutil.copyfile(picture, copied)
    return os.path.relpath(copied, page.parent)
