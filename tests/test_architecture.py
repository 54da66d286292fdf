"""The page that explains the rooms agrees with the rooms."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs.generator import files

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/onkel"
PAGE = (ROOT / "docs/architecture.md").read_text()
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def docstring(room: str) -> str:
    return ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or ""


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_has_the_sentence_of_each_room(room: str) -> None:
    sentence = re.split(r"(?<=\.)\s", docstring(room))[0]
    assert sentence.endswith(".")
    assert f"| `{room}` | {sentence} |" in PAGE


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_the_page_of_its_decisions(room: str) -> None:
    page = f"docs/decisions/{room}.md"
    assert docstring(room).splitlines()[-1] == f"Decisions: {page}"
    assert (ROOT / page).exists()
    assert f"({room}.md)" in (ROOT / "docs/decisions/README.md").read_text()


def exists(path: str, room: str) -> bool:
    """In the room of its line, if it has one, or in the package; tests are in the repository."""
    return any((folder / path).exists() for folder in (PACKAGE / room, PACKAGE, ROOT))


def test_every_file_on_the_page_exists() -> None:
    wrong, found = [], 0
    for line in PAGE.partition(files.BEGIN)[0].splitlines():
        rooms = [name for name in re.findall(r"\| `(\w+)` \|", line) if name in ROOMS]
        for path in re.findall(r"`([\w/]+\.py)`", line):
            found += 1
            if not exists(path, rooms[0] if rooms else ""):
                wrong.append(path)
    assert wrong == []
    assert found > 50


WRITTEN = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/decisions").glob("*.md")])  # the others are generated


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_path_into_a_room_exists(page: Path) -> None:
    """`room/file.py` and `room/file`, on any page."""
    paths = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w/]+)(?:\.py)?`", page.read_text())
    assert [path for path in paths if not (PACKAGE / path).is_dir() and not (PACKAGE / f"{path}.py").exists()] == []


def test_links_between_decisions_lead_somewhere() -> None:
    for page in (ROOT / "docs/decisions").glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_list_of_files_is_that_of_their_first_sentences() -> None:
    """If this fails: python -m docs.generator.files"""
    assert files.PAGE.read_text() == files.page()
    described = re.findall(r"^- `\w+\.py`: .+", files.page(), re.MULTILINE)
    assert len(described) == sum(path.name != "__init__.py" for path in files.PACKAGE.rglob("*.py"))
