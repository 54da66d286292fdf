"""The pages of examples/gallery: each runs, and ends in one picture with a headline."""

import runpy
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest

from onkel.report.style import DPI, WIDTH

FOLDER = Path(__file__).parents[1] / "examples" / "gallery"
PAGES = sorted(FOLDER.glob("plot_*.py"))
QUICK = ("auto_decisions", "custom_kernel", "regret")  # a second each; the others run in `make test-full`


def named(page: Path) -> str:
    return page.stem.removeprefix("plot_")


@pytest.mark.once
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=named(page), marks=() if named(page) in QUICK else pytest.mark.long) for page in PAGES]
)
def test_a_page_ends_in_a_picture(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    before = dict(matplotlib.rcParams)
    try:
        runpy.run_path(str(page), run_name="__main__")
        (number,) = plt.get_fignums()
        figure = plt.figure(number)
        figure.savefig("picture.png")
    finally:
        plt.close("all")
    assert dict(matplotlib.rcParams) == before
    assert figure.get_suptitle()
    assert capsys.readouterr().out
    assert figure.get_figwidth() * figure.dpi == WIDTH * DPI
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


@pytest.mark.once
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_asks_a_question_and_says_why(page: Path) -> None:
    title, line, empty, why = page.read_text(encoding="utf-8").splitlines()[1:5]
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert why > empty == ""
