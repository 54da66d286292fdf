"""`onkel compare`: stopped in between, and given files and learners in one row of words."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import onkel
from onkel.measure import Evaluation
from onkel.measure.running_time import Cost, work_of
from onkel.model import stream
from tests.test_cli import onkel_call, write_csv

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "prices.csv", *onkel.data.friedman(1500, dim=5, seed=0))


@pytest.mark.parametrize(("more", "blocks", "note", "runs", "rows"), [
    ((), 3, "stopped: the figures are of the first 900 rows", [1, 2], 900),
    (("--shuffle", "0"), 3, "stopped: the figures are of the first 900 rows in the first order", [1, 1], 900),
    (("--shuffle", "0"), 7, "stopped: these are 1 of 2 orders of the rows", [1, 1], 1500),
])  # fmt: skip
def test_ctrl_c_shows_what_was_compared_so_far(
    more: tuple[str, ...], blocks: int, note: str, runs: list[int], rows: int,
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    arguments = ("compare", prices, "PKAWV(Identity() + Constant())", "FOGD", "--target", "price", "--seeds", 2, *more)
    monkeypatch.setattr(stream, "BLOCK", 300)
    learn, blocks_learnt = Evaluation.learn, 0

    def interrupted(self: Evaluation, rows: Any) -> None:
        nonlocal blocks_learnt
        learn(self, rows)
        blocks_learnt += "FOGD" not in repr(self.model.learner)
        if blocks_learnt == blocks and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    pressed: list[bool] = []
    monkeypatch.setattr(Evaluation, "learn", interrupted)
    assert onkel_call(monkeypatch, *arguments, "--json") == 130
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["notes"][0]) == (rows, note)
    assert [row["runs"] for row in found["learners"]] == runs
    if not more:  # as a file of so many rows
        head = prices.with_name("head.csv")
        head.write_text("".join(prices.read_text().splitlines(keepends=True)[: 1 + rows]))
        monkeypatch.setattr(Evaluation, "learn", learn)
        assert onkel_call(monkeypatch, "compare", head, *arguments[2:], "--json") == 0
        assert [row["square"] for row in json.loads(capsys.readouterr().out)["learners"]] == [
            row["square"] for row in found["learners"]
        ]


def test_learners_and_files_are_told_apart(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(prices.parent)
    for name in ("FOGD", "more.csv"):
        Path(name).write_bytes(prices.read_bytes())
    arguments = ("compare", prices, "more.csv", "FOGD", "PKAWV (lam=0.5)", "--target", "price", "--json")
    assert onkel_call(monkeypatch, *arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], [row["learner"] for row in found["learners"]]) == (3000, ["FOGD(loss=Square())", "PKAWV (lam=0.5)"])
    assert onkel_call(monkeypatch, "compare", prices, "./FOGD", "PKAWV", "--target", "price", "--format", "csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 3000
    for words, message in {
        ("nofile2.csv", "PKAWV"): "'nofile2.csv' is neither a file nor a learner; check the path, or see: onkel learners",
        ("PKAWV", "more.csv"): "more.csv is a file, after a learner; name all files first",
        ("PKAVW",): "did you mean 'PKAWV'",
    }.items():
        assert onkel_call(monkeypatch, "compare", prices, *words, "--target", "price") == 1
        assert message in capsys.readouterr().err


def test_learners_can_be_skipped_and_learn_in_processes_of_their_own(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head = prices.with_name("head.csv")
    head.write_text("".join(prices.read_text().splitlines(keepends=True)[:41]))
    arguments = ("compare", head, "PKAWV", "FOGD", "KernelAWV(lam=2)", "--target", "price", "--json")
    found = []
    for more in ((), ("--workers", 2)):
        assert onkel_call(monkeypatch, *arguments, "--skip", "FOGD", *more) == 0
        captured = capsys.readouterr()
        slow = "takes longer for each row than for the one before, because it goes through all rows so far: about"
        assert f"KernelAWV(lam=2) {slow}" in " ".join(captured.err.split())
        assert "to leave it out: --skip KernelAWV" in captured.err
        found.append(json.loads(captured.out))
        for learner in found[-1]["learners"]:
            assert learner.pop("microseconds_per_row") > 0.0
    assert found[0] == found[1]
    assert [learner["learner"] for learner in found[0]["learners"]] == ["PKAWV", "KernelAWV(lam=2)"]
    for skip, message in {"PKAVW": "did you mean 'PKAWV'?", "PKAWV,FOGD,KernelAWV": "--skip leaves no learner"}.items():
        assert onkel_call(monkeypatch, *arguments, "--skip", skip) == 1
        assert message in capsys.readouterr().err


def test_the_time_left_does_not_grow_where_rows_cost_more_and_more() -> None:
    cost = Cost(fixed=1e-4, growth=1e-8)
    work = work_of([cost, Cost(2e-4, 0.0)], 1000)
    seconds = [sum(cost.fixed + cost.growth * t**2 + 2e-4 for t in range(rows)) for rows in (500, 1000)]
    assert [work(500), work(1000)] == pytest.approx(seconds, rel=5e-3)
    assert work(1500) == pytest.approx(work(1000) + work(500))  # the second order of the rows begins again
