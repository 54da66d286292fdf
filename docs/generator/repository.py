"""Pages that live elsewhere in the repository: the glossary, the changelog, the reports on papers.

They are copied into the site, and their links follow: to the page of the site that holds the file, or, where there is none, to the
name of the file.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from docs.generator.reference import write_changed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")

PAPERS = ("jezequel2019", "calandriello2017", "forks", "herbster2001", "zhang_simon2021")
COPIES = {
    ROOT / "GLOSSARY.md": DOCS / "project/glossary.md",
    ROOT / "CONTRIBUTING.md": DOCS / "project/contributing.md",
    ROOT / "CHANGELOG.md": DOCS / "project/changelog.md",
    ROOT / "RESULTS.md": DOCS / "project/results.md",
    **{ROOT / f"papers/{paper}/README.md": DOCS / f"papers/{paper}.md" for paper in PAPERS},
    **{path: DOCS / f"papers/{path.parent.name}-{path.name}" for paper in PAPERS for path in (ROOT / "papers" / paper).glob("*.md")
       if path.name != "README.md"},
}  # fmt: skip


def copy() -> None:
    """Write the copies, and put the pictures that they show beside them."""
    for source, page in COPIES.items():
        text = relinked(source.read_text(), source, page)
        if page.parent.name == "papers" and page.stem not in PAPERS:  # a table that a report links to
            heading = "" if text.startswith("# ") else f"# {source.parent.name}: {source.stem}\n\n"
            text = f"---\norphan: true\n---\n\n{heading}{text}"
        write_changed(page, text)


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
