"""What files and users say stands on the page as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

import onkel
from onkel.measure import Trace
from onkel.report.page import escaped, lines
from onkel.report.results import results
from tests.test_cli import onkel_call

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]

HOSTILE = 'a[/b],[bold]c[/bold],t,y\n1,2,"[/x]\nz",1.5\n3,4,:smile:,2.5\n5,7,"\x1b[31m",3.5\n'
PACKAGE = Path(onkel.__file__).parent


def test_names_and_values_of_a_file_are_no_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("[f].csv").write_text(HOSTILE)
    assert onkel_call(monkeypatch, "data", "[f].csv") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("[f].csv: 4 columns")
    assert [line.split()[0] for line in shown[2:6]] == ["a[/b]", "[bold]c[/bold]", "t", "y"]
    assert shown[4].rstrip().endswith(r"3 values: [/x]\nz, :smile:, \x1b[31m")
    assert onkel_call(monkeypatch, "run", "[f].csv", "--target", "t", "--save", "[m].onkel") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith(r"3 classes: [/x]\nz, :smile:, \x1b[31m")
    assert shown[-1].startswith("saved [m].onkel (")
    assert shown[-1].endswith("use it: onkel predict '[m].onkel' FILE")
    assert onkel_call(monkeypatch, "compare", "[f].csv", "PKAWV", "FOGD", "--target", "a[/b]") == 0
    assert "regression of a[/b]" in capsys.readouterr().out
    assert onkel_call(monkeypatch, "run", "[f].csv", "--target", "[/\n]") == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no column '[/\\n]'" in error


def test_a_table_is_plain_on_any_console(capsys: pytest.CaptureFixture[str]) -> None:
    trace = onkel.prequential(onkel.PKAWV(), onkel.data.rings(20, seed=0))
    assert isinstance(trace, Trace)
    for table in (
        lines({"[/a]": {"[/h]": "[/c]"}}, {"[/d]": {"[/h]": "1\n2"}}),
        results({"[/a]": trace}, {"[/d]": trace.summary()}),
    ):
        Console(width=200).print(table)
        shown = capsys.readouterr().out
        assert "[/a]" in shown
        assert "[/d]" in shown
    assert escaped("äµ\n\t\udc80") == "äµ\\n\\t\\udc80"


def test_there_is_one_place_that_makes_a_console() -> None:
    makers = [path for path in PACKAGE.rglob("*.py") if "rich.console" in path.read_text()]
    assert [path.name for path in makers] == ["page.py"]
