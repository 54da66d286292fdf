"""What a report says of columns: correlated ones are measured together, row numbers are named, blanks and dates have curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.measure.column_sums import ColumnSums
from onkel.measure.correlation import correlated
from onkel.measure.effects import Effect, effects
from onkel.measure.importance import Importance, Together
from onkel.report.html import Contents, page
from onkel.report.html.columns import most_important
from onkel.report.results import written
from tests.test_cli import onkel_call
from tests.test_html_report import Reader, learnt, measured

pytestmark = pytest.mark.once

ROWS = 984  # 24 stretches of 41 days, so that each begins on another day of the week


@pytest.fixture(scope="module")
def shop() -> Contents:
    """Flats whose price rises with the day of the sale, which two columns tell; some towns are blank."""
    rng = np.random.default_rng(0)
    towns = rng.choice(["Bonn", "Ulm", ""], ROWS)
    days = rng.permutation(ROWS)
    area = rng.uniform(40.0, 200.0, ROWS)
    price = area + 0.5 * days + 50.0 * (days % 7 == 0) - 60.0 * (towns == "") + rng.normal(size=ROWS)
    first = np.datetime64("2021-01-01")
    rows = [
        {"sold": str(first + days[k]), "day": float(days[k]), "area": float(area[k]),
         "town": str(towns[k]) or None, "price": float(price[k])}
        for k in range(ROWS)
    ]  # fmt: skip
    evaluation, result, stream = learnt(rows, onkel.PKAWV(features=onkel.Identity() + onkel.Constant()), target="price")
    assert evaluation.observed is not None
    found = measured(evaluation, stream)
    assert isinstance(found, Importance)
    curves = effects(evaluation.model, evaluation.state, evaluation.observed.first, found.names)
    return Contents({"PKAWV": [result]}, importance=found, effects=curves)


def paragraphs(contents: Contents) -> list[str]:
    return [text for _, text in Reader(page(contents)).all("p")]


def test_correlated_columns_are_measured_together(shop: Contents) -> None:
    found = shop.importance
    assert isinstance(found, Importance)
    [group] = found.together
    assert group.names == ("day", "sold")
    assert group.correlation == pytest.approx(1.0)
    assert group.without is not None
    assert group.without > 2.0 * found.without["day"]  # the date says what the number of the day would
    read = Reader(page(shop))
    assert "day + sold" in [text for _, text in read.all("th", scope="row")]
    assert len([text for text in paragraphs(shop) if "day + sold (rank correlation 1.00)" in text]) == 1


def test_the_terminal_names_the_most_important_columns_and_counts_a_group_once(shop: Contents) -> None:
    said = most_important(shop)
    assert said.index("day + sold (+") < said.index("area (+")
    assert "day (+" not in said


def test_groups_are_those_of_the_ranks() -> None:
    rng = np.random.default_rng(1)
    x, other = rng.normal(size=(2, 400))
    gaps = np.where(rng.uniform(size=400) < 0.3, np.nan, -x)
    columns = {
        "x": x,
        "cubed": np.exp(3.0 * x),
        "gaps": gaps,
        "other": other,
        "constant": np.ones(400),
        "empty": np.full(400, np.nan),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    table = next(iter(onkel.Model(target="other", missing="mean").open(rows).tables()))  # type: ignore[arg-type]
    [group] = correlated(table, tuple(columns))
    assert group.names == ("x", "cubed", "gaps")
    assert group.least == pytest.approx(1.0, abs=0.02)
    assert correlated(table, ("x", "other", "constant")) == []


def test_if_every_column_is_in_one_group_nothing_is_left_to_learn_without_it() -> None:
    x = np.random.default_rng(0).normal(size=ROWS)
    evaluation, _, stream = learnt((np.column_stack([x, 2.0 * x]), x), onkel.PKAWV())
    found = measured(evaluation, stream)
    assert isinstance(found, Importance)
    assert found.in_time
    assert found.together == (Together(("x0", "x1"), pytest.approx(1.0), found.together[0].permuted, None),)  # type: ignore[arg-type]
    assert found.together[0].permuted > 1.5 * found.permuted["x0"]


def test_a_column_without_which_the_error_is_smaller_is_named() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    evaluation, result, stream = learnt((X, X[:, 0] + rng.normal(size=300)), onkel.PKAWV(features=onkel.Taylor(degree=3)))
    found = measured(evaluation, stream)
    assert isinstance(found, Importance)
    better = [name for name, error in found.without.items() if error < 0.99 * found.whole]
    assert better
    [said] = [text for text in paragraphs(Contents({"PKAWV": [result]}, importance=found)) if text.startswith("A negative figure")]
    assert f"--without {','.join(better)}." in said


@pytest.mark.parametrize("cut", [1, 400])
def test_a_column_that_rises_by_one_with_each_row_looks_like_a_row_number(cut: int) -> None:
    k = np.arange(500.0)
    columns = {"own": k + 3.0, "half": k + 0.5, "broken": np.where(k < 450, k, k + 1.0), "twos": 2.0 * k, "y": np.sin(k)}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    table = next(iter(onkel.Model(target="y").open(rows).tables()))
    sums = ColumnSums()
    for start in range(0, 500, cut):
        sums.add(table[start : start + cut])
    assert [one.name for one in sums.summary() if one.counts_rows] == ["own"]


def test_the_page_says_how_to_leave_out_a_row_number() -> None:
    rows = [{"the row": float(k), "y": float(np.sin(k))} for k in range(200)]
    result = learnt(rows, onkel.PKAWV(), target="y")[1]
    [said] = [text for text in paragraphs(Contents({"PKAWV": [result]})) if "row numbers" in text]
    assert "the row rises by 1 with each row, as row numbers do; to leave it out: --without 'the row'." in said


def test_blanks_and_dates_have_curves(shop: Contents) -> None:
    of: dict[str, Effect] = {effect.name: effect for effect in shop.effects}
    town, sold = of["town"], of["sold"]
    assert of["area"].blank is None
    assert town.blank is not None
    assert town.blank[0] - town.means.mean() == pytest.approx(-60.0, abs=3.0)
    assert sold.is_date
    assert sold.blank is None
    assert list(sold.values) == sorted(sold.values)
    # each point is the mean over a stretch of time, in which the days of the week cancel out
    assert np.abs(np.diff(sold.means[:, 0], n=2)).max() < 5.0
    read = Reader(page(shop))
    drawn = [text for _, text in read.all("svg") if "blank" in text]
    assert len(drawn) == 1
    assert [text for _, text in read.all("text") if text in ("2021-01", "2023-08")] == ["2021-01", "2023-08"]
    assert written(float(town.blank[0])) in [text for _, text in read.all("td")]


def test_gaps_of_numbers_have_a_point_of_their_own() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.uniform(size=800) < 0.2, np.nan, rng.normal(size=800))
    y = np.where(np.isnan(x), 9.0, np.nan_to_num(x))
    evaluation, result, _ = learnt([{"x": float(a), "y": float(b)} for a, b in zip(x, y, strict=True)], onkel.PKAWV(), target="y")
    assert evaluation.observed is not None
    [effect] = effects(evaluation.model, evaluation.state, evaluation.observed.first, ("x",))
    assert effect.blank is not None
    assert effect.blank[0] == pytest.approx(9.0, abs=0.5)
    assert not np.isnan(effect.values).any()
    assert "blank" in [text for _, text in Reader(page(Contents({"PKAWV": [result]}, effects=(effect,)))).all("text")]


# --- the answer


def test_the_answer_says_what_the_error_is_without_the_beginning() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    _, result, _ = learnt((X, 100.0 + X[:, 0]), onkel.PKAWV())
    later = result.curve.later()
    assert later is not None
    assert abs(later.rows - ROWS / 2) <= 64
    windows = result.curve
    last = windows.values["rmse"][windows.ends - windows.rows >= ROWS - later.rows]
    assert last.min() <= later.error <= last.max() < 0.5 * result.errors["rmse"]
    said = Reader(page(Contents({"PKAWV": [result]}))).all("h1")[0][1]
    assert f"over {ROWS} rows ({written(later.error)} in the last {later.rows:,})" in said
    few = learnt((X[:20], X[:20, 0]), onkel.PKAWV())[1]
    assert few.curve.later() is None


def test_notes_stand_once_on_a_page(shop: Contents) -> None:
    made = " ".join(text for _, text in Reader(page(shop)).all("main"))
    assert shop.main.notes
    for note in shop.main.notes:
        assert made.count(note[1:]) == 1, note


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (65718.3, "65,718"), (31271.0, "31,271"), (-7622.9, "-7,623"), (999.96, "1,000"), (375.84, "375.8"), (0.25, "0.25"),
        (0.00012345, "0.0001234"), (4_319_160_000.0, "4,319,160,000"), (3.2e-7, "3.2e-07"), (0.0, "0"), (1.5e13, "1.5e+13"),
    ],
)  # fmt: skip
def test_numbers_have_powers_of_ten_only_if_they_are_tiny_or_huge(value: float, said: str) -> None:
    assert written(value) == said


@pytest.mark.usefixtures("cheap_default")
def test_the_terminal_says_what_the_page_says_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = onkel.data.friedman(700, dim=5, seed=0)
    lines = [",".join(f"{cell:.5f}" for cell in row) for row in np.column_stack([X, 1e5 * y])]
    Path("prices.csv").write_text("\n".join(["a,b,c,d,e,price", *lines]) + "\n")
    assert onkel_call(monkeypatch, "report", "prices.csv", "--target", "price") == 0
    said = " ".join(capsys.readouterr().out.split())
    read = Reader(Path("prices.html").read_text())
    head: list[Any] = [read.all("h1")[0][1], *(text for one, text in read.all("p") if one.get("class") == "lede")]
    assert all(" ".join(sentence.split()) in said for sentence in head)
    assert "Most important (rise of the rms error if the values are exchanged among rows): d (+" in said
    assert "the running mean" not in said
    assert "e+0" not in said
