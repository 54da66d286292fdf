"""The list of all files in docs/architecture.md: `python -m docs.generator.files` writes it, from each file's first sentence.

A test compares the list with what this makes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, PACKAGE = ROOT / "docs/architecture.md", ROOT / "src/onkel"
BEGIN, END = "<!-- files: written by python -m docs.generator.files -->\n", "<!-- end of files -->\n"


def listed() -> str:
    """The list, a room at a time; files that belong to no room come first."""
    folders = sorted({path.parent for path in PACKAGE.rglob("*.py")})
    parts = []
    for folder in folders:
        files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        name = folder.relative_to(PACKAGE.parent).as_posix().removeprefix("onkel/")
        if files:
            parts.append(f"**`{name}`**\n\n" + "".join(f"- `{path.name}`: {first_sentence(path)}\n" for path in files))
    return "\n".join(parts)


def first_sentence(path: Path) -> str:
    """The first sentence of a file's docstring, on one line; without the formula that may follow it."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(said.split("\n\n")[0].split("\n    ")[0].split())
    sentence = re.split(r"(?<=[a-z\)`\d²])\.(?:\s|$)|:$", paragraph)[0].rstrip(".:")
    return sentence.replace("<", "\\<").replace("|", "\\|")


def page() -> str:
    """The page with the list as it should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{listed()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
