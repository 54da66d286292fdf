"""RESULTS.md is what its script makes of the stored results, and the frame that repeats the papers fits the scripts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from papers import __main__ as frame
from papers import made, page
from papers.lines import Ours, told

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]


def test_the_page_is_what_the_stored_results_give() -> None:
    assert (ROOT / page.PAGE).read_text() == page.page(ROOT), "write it again: python -m papers.page"


def test_every_script_has_its_place_in_the_frame() -> None:
    scripts = {
        f"{path.parent.name}.{path.stem}"
        for path in (ROOT / "papers").glob("*/*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    assert {script.name for script in frame.SCRIPTS} == scripts


def test_constants_of_a_quick_run_are_those_of_the_scripts() -> None:
    for name, constants in frame.QUICK.items():
        text = (ROOT / "papers" / name).read_text()
        compile(smaller := frame.smaller(text, constants), name, "exec")
        assert len(smaller.splitlines()) == len(text.splitlines())
    with pytest.raises(SystemExit, match="NOTHING"):
        frame.smaller("SEEDS = 3\n", {"NOTHING": "1"})


def test_nothing_stored_is_replaced_unless_asked(tmp_path: Path) -> None:
    frame.copied(tmp_path, full=False)
    assert not list(tmp_path.rglob("*.json"))
    assert "STREAMS_OF_A_KIND = 8" in (tmp_path / "papers/jezequel2019/bounds.py").read_text()
    assert "STREAMS_OF_A_KIND = 8" not in (ROOT / "papers/jezequel2019/bounds.py").read_text()


def test_each_table_and_figure_of_the_papers_has_a_line() -> None:
    known = {
        "jezequel2019": ("Table 1", "Figure 1", "Figure 2", "Figure 3", "Figure 4"),
        "forks": ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figures 2 and 4", "Figure 3"),
        "herbster2001": ("Figure 1", "Figures 2 to 4"),
        "zhang_simon2021": (*(f"Figure {i}" for i in range(1, 6)), "Tables 1, 2 and 3", "Table 4", "Table 5"),
    }
    for paper, lines in page.papers(ROOT):
        places = [line.place for line in lines] + [place for place, _ in paper.settings]
        lacking = [place for place in known.get(paper.folder, ()) if not any(one.startswith(place) for one in places)]
        assert lacking == []


def test_a_changed_result_fails_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "papers/jezequel2019"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "papers/jezequel2019/figure3.json", folder)
    assert page.compare(ROOT, tmp_path) == 0
    found: dict[str, Any] = json.loads((folder / "figure3.json").read_text())
    for run in found["the worst input and label"]["KernelAWV"]:
        run[-1] *= 1.1
    (folder / "figure3.json").write_text(json.dumps(found))
    assert page.compare(ROOT, tmp_path) == 1
    assert "regret of KernelAWV" in capsys.readouterr().out


def test_a_note_belongs_to_the_result_that_it_was_written_for(tmp_path: Path) -> None:
    (tmp_path / "papers/x").mkdir(parents=True)
    (tmp_path / "papers/x/y.json").write_text("1\n")
    made.note(tmp_path, "x.y", seconds=1.0, full=True)
    entry = made.of(tmp_path, "x.y")
    assert entry is not None
    assert {"commit", "date", "machine", "numpy", "numba"} <= set(entry)
    (tmp_path / "papers/x/y.json").write_text("2\n")
    assert made.of(tmp_path, "x.y") is None


def test_ranges() -> None:
    assert Ours.over([1.0, 2.0, 6.0], "") == Ours(3.0, 1.0, 6.0, "")
    assert Ours.timed(4.0).high == 8.0
    assert told(-0.004, ".2f") == "0.00"
    assert told(-1.5, "+.1f") == "−1.5"
