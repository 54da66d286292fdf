"""The README's promises to a newcomer hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_it_stands() -> None:
    code = re.findall(r"```python\n(.*?)```", README, flags=re.S)[0]
    names: dict[str, Any] = {}
    exec(code, names)
    scores, y = names["scores"], names["y"]
    assert np.mean((scores - y) ** 2) < 0.25 * np.var(y)


def test_the_two_commands_and_the_picture_are_there() -> None:
    assert "make demo" in README
    assert "make test" in README
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / picture).is_file()


def test_nothing_was_left_to_fill_in() -> None:
    assert not re.findall(r"^[A-Z]{4,}$", README, flags=re.M)


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
