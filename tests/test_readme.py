"""The README's promises to a newcomer hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_it_stands() -> None:
    code = re.findall(r"```python\n(.*?)```", README, flags=re.S)[0]
    names: dict[str, Any] = {}
    exec(code, names)
    scores, y = names["scores"], names["y"]
    assert np.mean((scores - y) ** 2) < 0.25 * np.var(y)


def test_the_example_of_a_model_runs_as_it_stands() -> None:
    code = next(block for block in re.findall(r"```python\n(.*?)```", README, flags=re.S) if "onkel.Model(" in block)
    names: dict[str, Any] = {"onkel": onkel}
    exec(code, names)
    assert names["state"].rows == len(names["rows"])


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_two_commands_are_there() -> None:
    assert "make demo" in README
    assert "make test" in README


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_page_has_its_picture(page: str) -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / page).read_text())
    assert len(pictures) == 1
    assert ((ROOT / page).parent / pictures[0]).stat().st_size > 1000


def test_the_architecture_names_every_folder() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    folders = {path.parent.name for path in (ROOT / "src/onkel").glob("*/__init__.py")}
    assert folders
    assert [folder for folder in sorted(folders) if f"`{folder}`" not in page] == []


def test_no_page_is_empty() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        assert len(page.read_text().split()) > 50, page.name


def test_nothing_was_left_to_fill_in() -> None:
    assert not re.findall(r"^[A-Z]{4,}$", README, flags=re.M)


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
