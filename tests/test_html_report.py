"""The page of `onkel report`: it agrees with the result, nothing on it comes from elsewhere, and no name becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.measure import Evaluation, Result
from onkel.measure.column_sums import ColumnSums
from onkel.measure.effects import effects
from onkel.measure.importance import Importance, NotMeasured, importance
from onkel.measure.observed import MOST_ROWS
from onkel.measure.residuals import SAMPLED, Residuals
from onkel.report.html import Contents, Peer, page, write
from onkel.report.html.colours import ROLES
from onkel.report.html.ticks import shown, ticks
from onkel.report.results import written
from tests.test_cli import onkel_call

pytestmark = pytest.mark.once

HOSTILE = '</script><script>alert("1")</script><!--'


class Reader(HTMLParser):
    """Every element with its attributes and its text, in order."""

    VOID = frozenset({"meta", "br", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[int] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        if tag not in self.VOID:
            self.open.append(len(self.found) - 1)

    def handle_endtag(self, tag: str) -> None:
        if self.found[self.open.pop()][0] != tag:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        for k in self.open:
            self.found[k][2].append(data)

    def all(self, tag: str, **wanted: str) -> list[tuple[dict[str, str | None], str]]:
        """The attributes and the text of these elements."""
        return [(one, "".join(text)) for name, one, text in self.found if name == tag and wanted.items() <= one.items()]

    def data(self, ident: str) -> Any:
        [(_, text)] = self.all("script", id=f"{ident}-data")
        return json.loads(text)


def observed(rows: Any, learner: Any, **model: Any) -> tuple[Evaluation, Any]:
    made = onkel.Model(learner=learner, **model)
    stream = made.open(rows)
    evaluation = Evaluation.begin(made, stream)
    evaluation.observe()
    for table in stream.tables():
        evaluation.learn(table)
    return evaluation, stream


def learnt(rows: Any, learner: Any, **model: Any) -> tuple[Evaluation, Result, Any]:
    evaluation, stream = observed(rows, learner, **model)
    return evaluation, evaluation.result(stream), stream


def measured(evaluation: Evaluation, stream: Any, seconds: float = 60.0) -> Importance | NotMeasured:
    assert evaluation.observed is not None
    return importance(evaluation.model, stream, evaluation.observed.first, evaluation.observed.error, seconds)


@pytest.fixture(scope="module")
def numbers() -> Contents:
    """A regression by Auto, with all that a page can have."""
    X, y = onkel.data.friedman(1200, dim=6, seed=0)
    evaluation, result, stream = learnt((X, y), onkel.Auto())
    assert evaluation.observed is not None
    found = measured(evaluation, stream)
    assert isinstance(found, Importance)
    curves = effects(evaluation.model, evaluation.state, evaluation.observed.first, found.names)
    return Contents({"Auto": [result]}, {}, found, curves, "onkel report x.csv --target y", "0123")


@pytest.fixture(scope="module")
def classes() -> Contents:
    X, y = onkel.data.rings(800, seed=0)
    labels = np.array([HOSTILE, "b & c"])[(y > 0).astype(int)]
    rows = [{"<b>x</b>": a, HOSTILE: b, "town": HOSTILE[:9], "label": label} for (a, b), label in zip(X, labels, strict=True)]
    _, result, _ = learnt(rows, onkel.PKAWV(), target="label")
    return Contents(
        {HOSTILE: [result]}, {"<i>peer": Peer(np.tile([0.0, 1.0], 400), 12.5, 2048)}, command=f"onkel report '{HOSTILE}'"
    )


def test_elements_are_closed_identifiers_differ_and_links_lead_somewhere(numbers: Contents, classes: Contents) -> None:
    for contents in (numbers, classes):
        read = Reader(page(contents))
        assert read.open == []
        assert read.unclosed == []
        idents = [one["id"] for _, one, _ in read.found if "id" in one]
        assert len(idents) == len(set(idents))
        links = [one["href"] for one, _ in read.all("a")]
        assert {str(link)[1:] for link in links} <= set(idents)
        assert len(links) == len(read.all("section")) + 1


def test_nothing_comes_from_elsewhere_and_only_its_own_scripts_may_run(numbers: Contents) -> None:
    made = page(numbers)
    read = Reader(made)
    for _, attributes, _ in read.found:
        assert not {"src", "style", "onclick", "onload", "srcset"} & attributes.keys()
        assert str(attributes.get("href", "#")).startswith("#")
    assert re.findall(r"https?://[^\s\"')]+", made) == ["https://github.com/leeoniya/uPlot"]  # in a comment that names its author
    assert "url(" not in made
    assert "@import" not in made
    [policy] = [str(one["content"]) for one, _ in read.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        texts = [text for one, text in read.all(tag) if one.get("type") is None]
        hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert re.search(rf"{tag}-src ([^;]+)", policy)[1].split() == hashes  # type: ignore[index]


def test_names_and_labels_are_text_wherever_they_stand(classes: Contents) -> None:
    made = page(classes)
    read = Reader(made)
    assert len([one for one, _ in read.all("script") if one.get("type") is None]) == 2
    assert read.all("b") == []
    assert read.all("i") == []
    assert "<script>alert" not in made
    assert "<!--" not in made
    assert HOSTILE in read.all("h1")[0][1]
    assert HOSTILE in [text for one, text in read.all("th", scope="row")]
    assert HOSTILE in read.data("error-windows")["lines"][0]["name"]
    assert "&lt;b&gt;x&lt;/b&gt;" in made


def test_tables_have_captions_and_scopes_and_charts_a_text_a_table_and_the_same_data(numbers: Contents) -> None:
    read = Reader(page(numbers))
    tables = len(read.all("table"))
    assert len([text for _, text in read.all("caption") if text]) == tables > 10
    assert all(one.get("scope") in ("row", "col") for one, _ in read.all("th"))
    charts = [str(one["data-chart"]) for one, _ in read.all("div") if "data-chart" in one]
    assert {"error-windows", "error-so-far", "weights", "coverage", "widths", "residuals-time", "residuals-prediction"} == set(
        charts
    )
    assert all(one.get("aria-label") or one.get("aria-hidden") == "true" for one, _ in read.all("svg"))
    for ident in charts:
        data = read.data(ident)
        for line in data["lines"]:
            assert len(line["y"]) == len(data["x"])
            assert line["role"] in ROLES


def test_figures_on_the_page_are_those_of_the_result(numbers: Contents) -> None:
    read, result, found = Reader(page(numbers)), numbers.main, numbers.importance
    assert isinstance(found, Importance)
    assert f"rms error of {shown('rmse', result.errors['rmse'])}" in read.all("h1")[0][1]
    assert f"{result.rows:,} rows" in read.all("h1")[0][1]
    data, curve = read.data("error-windows"), result.curve
    assert data["x"] == curve.ends.tolist()
    assert data["lines"][0]["y"] == pytest.approx(curve.values["rmse"], rel=1e-5)
    assert [line["name"] for line in data["lines"]] == ["Auto", "the running mean", "the last label"]
    assert read.data("error-so-far")["lines"][0]["y"][-1] == pytest.approx(result.errors["rmse"], rel=1e-5)
    cells = [text for _, text in read.all("td")]
    for metric in ("rmse", "mae", "r2", "explained", "pinball"):
        assert shown(metric, result.errors[metric]) in cells
    for name, error in found.permuted.items():
        assert f"{'+' * (error > found.error)}{written(error - found.error)}" in cells, name
    assert result.explanation is not None
    assert result.explanation.to_expert is not None
    assert written(result.explanation.to_expert.bound) in cells
    weights = {line["name"]: line["y"][-1] for line in read.data("weights")["lines"]}
    assert read.data("weights")["x"][-1] == result.rows
    for kind in {expert.kind for expert in result.explanation.experts}:
        own = [expert.kind == kind for expert in result.explanation.experts]
        assert weights[kind] == pytest.approx(result.explanation.shares[own].sum(), rel=1e-4, abs=1e-9)
    assert "onkel report x.csv --target y" in [text for _, text in read.all("code")]


def test_what_is_not_defined_is_left_out(numbers: Contents, classes: Contents) -> None:
    def sections(contents: Contents) -> set[str]:
        return {str(one["id"]) for one, _ in Reader(page(contents)).all("section")}

    assert sections(numbers) == {"know", "error", "decided", "columns", "intervals", "residuals", "data", "made"}
    assert sections(classes) == {"error", "probabilities", "confusion", "data", "made"}
    _, single, _ = learnt((np.array([[1.0, 2.0]]), np.array([3.0])), onkel.PKAWV())
    assert sections(Contents({"PKAWV": [single]})) == {"know", "data", "made"}
    constant = learnt((np.random.default_rng(0).normal(size=(300, 2)), np.full(300, 5.0)), onkel.PKAWV())[1]
    made = page(Contents({"PKAWV": [constant]}))
    assert "nan" not in Reader(made).all("main")[0][1].split()


def test_a_single_large_residual_is_on_the_page_however_many_rows_there_are() -> None:
    y = np.zeros(60_000)
    y[41_234] = 77.0
    X = np.zeros((60_000, 1))
    _, result, _ = learnt((X, y), onkel.PKAWV(), scale_target=False)
    made = page(Contents({"PKAWV": [result]}))
    read = Reader(made)
    data = read.data("residuals-time")
    assert max(data["lines"][0]["high"]) == pytest.approx(77.0)
    assert len(data["x"]) <= 256
    points = read.data("residuals-prediction")
    assert max(value for line in points["lines"] for value in line["y"] if value is not None) == pytest.approx(77.0)
    assert len(points["x"]) <= SAMPLED + 2 * 256
    assert len(made) < 1_000_000


@pytest.mark.parametrize("cuts", [(), (1, 2, 900), tuple(range(37, 4000, 37))])
def test_residuals_and_columns_do_not_depend_on_how_rows_are_cut(cuts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    y, half = rng.standard_cauchy(4000), np.abs(rng.normal(size=(4000, 1)))
    half[:9] = np.inf
    words = np.array(["u", "v", "w"])[rng.integers(0, 3, 4000)]
    rows = [{"a": float(value), "b": str(word)} for value, word in zip(y, words, strict=True)]
    rows[7]["a"] = float("nan")
    table = next(iter(onkel.Model(target="a", missing="drop").open(rows).tables()))  # type: ignore[arg-type]
    found, columns = Residuals((0.9,)), ColumnSums()
    for start, stop in zip((0, *cuts), (*cuts, 4000), strict=True):
        found.add(np.zeros(stop - start), y[start:stop], half[start:stop])
        columns.add(table[start:stop])
    summary, whole = found.summary(), Residuals((0.9,))
    whole.add(np.zeros(4000), y, half)
    assert np.array_equal(summary.largest, whole.summary().largest)
    assert np.array_equal(summary.at, whole.summary().at)
    for end, least, largest in zip(summary.ends, summary.least, summary.largest, strict=True):
        part = y[end - (end - 1) % found.pieces.length - 1 : end]
        assert (least, largest) == (part.min(), part.max())
    inside = np.abs(y[9:]) <= half[9:, 0]
    assert found.sums[:, 3].sum() == inside.sum()
    a, b = columns.summary()
    assert (a.missing, a.least, a.largest) == (1, np.nanmin(np.delete(y, 7)), np.nanmax(np.delete(y, 7)))
    assert dict(b.common) == {word: int(np.sum(words == word)) for word in "uvw"}


def test_columns_that_have_drifted_are_named_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    moved = rng.normal(size=n) + np.linspace(0.0, 3.0, n)
    late = np.where(np.arange(n) < n // 2, "old", rng.choice(["old", "new"], n))
    rows = {"still": rng.normal(size=n), "moved": moved, "late": late, "same": rng.choice(["p", "q"], n), "y": rng.normal(size=n)}
    _, result, _ = learnt(
        [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)], onkel.PKAWV(), target="y"
    )
    assert result.observed is not None
    assert {one.name: one.drifted for one in result.observed.columns} == {
        "still": False, "moved": True, "late": True, "same": False, "y": False,
    }  # fmt: skip
    [of_moved] = [one for one in result.observed.columns if one.name == "moved"]
    assert of_moved.first == pytest.approx(moved[: n // 4].mean(), abs=0.02)
    assert of_moved.last == pytest.approx(moved[-n // 4 :].mean(), abs=0.02)


def test_importance_finds_the_columns_that_matter(numbers: Contents) -> None:
    found = numbers.importance
    assert isinstance(found, Importance)
    assert set(found.names[:5]) == {"x0", "x1", "x2", "x3", "x4"}  # friedman's sixth column says nothing
    assert found.permuted["x3"] > 1.5 * found.error
    assert found.without["x3"] > 1.1 * found.whole
    assert found.whole == numbers.main.errors["rmse"]
    assert (found.learnt, found.scored, found.rows) == (600, 600, 1200)
    assert found.in_time


def test_a_column_that_repeats_another_is_missed_only_when_permuted() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2))
    X = np.column_stack([x[:, 0], x[:, 0], x[:, 1]])
    evaluation, _, stream = learnt((X, 3.0 * x[:, 0] + x[:, 1]), onkel.PKAWV())
    found = measured(evaluation, stream)
    assert isinstance(found, Importance)
    assert found.permuted["x0"] > 5.0 * found.error
    assert found.without["x0"] < 1.2 * found.whole
    assert found.without["x2"] > 1.5 * found.whole


def test_importance_ends_in_time_and_is_only_measured_where_it_means_something() -> None:
    X, y = onkel.data.friedman(600, dim=5, seed=0)
    evaluation, _, stream = learnt((X, y), onkel.PKAWV())
    late = measured(evaluation, stream, seconds=0.0)
    assert late == NotMeasured("0 s were not enough to learn half of the first 600 rows")
    few, result, stream = learnt((X[:50], y[:50]), onkel.PKAWV())
    early = measured(few, stream)
    assert early == NotMeasured("it takes at least 200 rows")
    assert "was not measured: it takes at least 200 rows." in page(Contents({"PKAWV": [result]}, importance=early))


def test_effects_follow_the_function_and_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x, towns = rng.uniform(-1.0, 1.0, 1500), rng.choice(["Bonn", "Ulm"], 1500)
    y = 2.0 * x + 5.0 * (towns == "Ulm")
    rows = [{"x": float(a), "town": str(b), "y": float(c)} for a, b, c in zip(x, towns, y, strict=True)]
    evaluation, _, _ = learnt(rows, onkel.PKAWV(features=onkel.Identity() + onkel.Constant()), target="y")
    assert evaluation.observed is not None
    before = onkel.pack(evaluation.model, evaluation.state)
    of_x, of_town = effects(evaluation.model, evaluation.state, evaluation.observed.first, ("x", "town"))
    assert onkel.pack(evaluation.model, evaluation.state) == before
    slope = np.polyfit(of_x.values, of_x.means[:, 0], 1)[0]
    assert slope == pytest.approx(2.0, abs=0.1)
    means = dict(zip(of_town.values, of_town.means[:, 0], strict=True))
    assert means["Ulm"] - means["Bonn"] == pytest.approx(5.0, abs=0.2)


def test_held_rows_are_bounded() -> None:
    X, y = np.zeros((50_000, 3)), np.zeros(50_000)
    evaluation, result, _ = learnt((X, y), onkel.PKAWV())
    assert evaluation.observed is not None
    assert 0 < evaluation.observed.held <= MOST_ROWS
    assert result.observed is not None
    assert result.observed.rows == 50_000


def test_curves_of_all_rows_so_far_end_at_the_error_of_all_rows() -> None:
    X, y = onkel.data.friedman(3000, dim=5, seed=0)
    _, result, _ = learnt((X, y), onkel.PKAWV())
    so_far = result.to_json()["cumulative"]
    assert so_far["rmse"][-1] == pytest.approx(result.errors["rmse"])
    assert so_far["running_mean"][-1] == pytest.approx(result.baselines["running mean"]["rmse"])
    assert so_far["rows"] == result.to_json()["curve"]["rows"]


def test_of_several_runs_the_mean_is_the_answer_and_notes_name_their_learners() -> None:
    X, y = onkel.data.friedman(400, dim=5, seed=0)
    runs = [learnt((X, y), onkel.PKAWV(features=onkel.Fourier(count=30, seed=seed)))[1] for seed in range(3)]
    worse = learnt((X, y), onkel.PKAWV(lam=1e9))[1]
    mean = float(np.mean([one.errors["rmse"] for one in runs]))
    read = Reader(page(Contents({"worse": [worse], "seeded": runs})))
    said = read.all("h1")[0][1]
    assert said.startswith(f"Of 2 learners, seeded predicts y best, with an rms error of {shown('rmse', mean)} over 400 rows (")
    assert "less than worse" in said
    cells = [text for _, text in read.all("td")]
    assert f"{shown('rmse', mean)} ± {shown('rmse', float(np.std([one.errors['rmse'] for one in runs], ddof=1)))}" in cells
    own = [note for note in worse.notes if note not in runs[0].notes]
    assert [text for _, text in read.all("li") if text.startswith("worse: ")] == [f"worse: {note}." for note in own]


def test_a_peer_is_shown_in_the_same_windows() -> None:
    X, y = onkel.data.rings(1000, seed=0)
    _, result, _ = learnt((X, (y > 0).astype(float)), onkel.PKAWV(), task="classification")
    losses = np.random.default_rng(0).integers(0, 2, 1000).astype(float)
    read = Reader(page(Contents({"PKAWV": [result]}, {"theirs": Peer(losses)})))
    data = read.data("error-windows")
    [theirs] = [line for line in data["lines"] if line["name"] == "theirs"]
    size, end = int(result.curve.rows[3]), int(result.curve.ends[3])
    assert theirs["y"][3] == pytest.approx(losses[end - size : end].mean(), rel=1e-5)
    assert read.data("error-so-far")["lines"][1]["y"][-1] == pytest.approx(losses.mean(), rel=1e-5)
    assert f"{losses.mean():.2%}" in [text for _, text in read.all("td")]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.2, 17.0), (1e-9, 3e-9), (0.0, 1e12), (5.0, 5.0), (-1.0, 1e-3)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 12
    assert all(low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high) for value in found)
    assert len({written(value) for value in found}) == len(found)


# --- the command


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    X, y = onkel.data.friedman(700, dim=5, seed=0)
    lines = [",".join(f"{cell:.5f}" for cell in row) for row in np.column_stack([X, y])]
    Path("prices.csv").write_text("\n".join(["a,b,c,d,e,price", *lines]) + "\n")
    return Path("prices.csv")


@pytest.mark.usefixtures("cheap_default")
def test_report_writes_a_page_beside_its_json(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onkel_call(monkeypatch, "report", prices, "--target", "price", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["html"] == "prices.html"
    assert set(found["importance"]["by_permutation"]["permuted"]) == set("abcde")
    read = Reader(Path("prices.html").read_text())
    assert shown("rmse", found["rmse"]) in read.all("h1")[0][1]
    assert "onkel report prices.csv --target price --json" in [text for _, text in read.all("code")]
    first = Path("prices.html").read_text()
    # its own page is replaced
    assert onkel_call(monkeypatch, "report", prices, "--target", "price", "--json", "--seconds", "0") == 0
    assert "importance" not in json.loads(capsys.readouterr().out)
    checksum = re.compile(r"<code>([0-9a-f]{32})</code>")
    assert checksum.findall(first) == checksum.findall(Path("prices.html").read_text()) != []


@pytest.mark.usefixtures("cheap_default")
def test_a_page_overwrites_only_pages(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.html").write_text("<p>mine")
    assert onkel_call(monkeypatch, "report", prices, "--target", "price") == 1
    assert "a file that onkel did not write" in capsys.readouterr().err
    assert Path("prices.html").read_text() == "<p>mine"
    for wrong, said in (("prices.csv", "must end in .html"), ("none/x.html", "there is no folder")):
        assert onkel_call(monkeypatch, "report", prices, "--target", "price", "--out", wrong) == 1
        assert said in capsys.readouterr().err


@pytest.mark.usefixtures("cheap_default")
def test_run_and_compare_write_pages_too(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--html", "run.html") == 0
    assert "wrote run.html" in capsys.readouterr().out
    both = ("PKAWV", "PKAWV(lam=1000.0)")
    assert onkel_call(monkeypatch, "compare", prices, *both, "--target", "price", "--html", "both.html") == 0
    read = Reader(Path("both.html").read_text())
    assert [line["name"] for line in read.data("error-windows")["lines"]][:2] == list(both)
    assert read.all("h1")[0][1].startswith("Of 2 learners, PKAWV predicts price best")
    assert onkel_call(monkeypatch, "compare", prices, *both, "--target", "price", "--html", "more.html", "--workers", "2") == 0
    checksums = [
        re.findall(r"<code>([0-9a-f]{32})</code>", Path(name).read_text()) for name in ("run.html", "both.html", "more.html")
    ]
    assert checksums[0] == checksums[1] == checksums[2] != []


@pytest.mark.usefixtures("cheap_default")
def test_a_continued_run_says_which_rows_its_residuals_are_of(prices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--target", "price", "--save", "m.onkel")
    assert onkel_call(monkeypatch, "run", prices, *options) == 0
    lines = prices.read_text().splitlines()
    prices.write_text("\n".join([*lines, *lines[1:301]]) + "\n")
    assert onkel_call(monkeypatch, "run", prices, *options, "--resume", "--html", "more.html") == 0
    text = Reader(Path("more.html").read_text()).all("main")[0][1]
    assert "over 1,000 rows" in text
    assert "the 300 rows since the run was continued" in text
    assert "The importance of the columns was not measured: the model goes on from rows" in text


def test_write_replaces_a_page_as_a_whole(numbers: Contents, tmp_path: Path) -> None:
    place = write(tmp_path / "x.html", numbers)
    assert place.read_text().startswith("<!doctype html>")
    assert place.stat().st_size < 1_000_000
    assert list(tmp_path.iterdir()) == [place]
