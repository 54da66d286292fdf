"""The picture of an additive model: what a person can read off it is what was learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from onkel.measure.components import Components, Curve
from onkel.report import draw_components

pytestmark = pytest.mark.once

RNG = np.random.default_rng(0)
PLACES = np.linspace(-3.0, 3.0, 200)
PARTS = Components(
    1.5,
    (
        Curve("length (cm)", PLACES, np.sin(PLACES)),
        Curve("age (years)", np.linspace(0.0, 100.0, 200), np.linspace(-0.5, 0.5, 200)),
        Curve("weekday", np.linspace(0.0, 6.0, 200), 2.0 * np.cos(np.linspace(0.0, 6.0, 200))),
        Curve("length × age", PLACES, 0.1 * PLACES),
    ),
)
X = np.column_stack([RNG.normal(size=5000), RNG.uniform(20.0, 60.0, 5000), RNG.integers(0, 7, 5000), np.zeros(5000)])[:, :3]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Draws, and returns the figure beside the file."""
    figures: list[Any] = []
    save = Figure.savefig

    def kept(figure: Any, *args: Any, **more: Any) -> None:
        figures.append(figure)
        save(figure, *args, **more)

    monkeypatch.setattr(Figure, "savefig", kept)

    def draw(*args: Any, **more: Any) -> tuple[Any, Path]:
        path = draw_components(tmp_path / "curves.png", *args, **more)
        return figures[-1], path

    return draw


def test_a_panel_for_each_curve_with_its_name_and_one_scale(drawn: Any) -> None:
    figure, path = drawn(PARTS, X, output="hires an hour", title="bike")
    panels = figure.axes
    assert [panel.get_xlabel() for panel in panels] == ["length (cm)", "age (years)", "weekday", "length × age"]
    assert len({panel.get_ylim() for panel in panels}) == 1
    low, high = panels[0].get_ylim()
    assert low < -2.0 < 2.0 < high
    assert figure.get_supylabel() == "effect on hires an hour"
    assert "bike" in figure.get_suptitle()
    assert int.from_bytes(path.read_bytes()[16:20], "big") == 800  # the width that a PNG says it has


def test_the_line_is_the_curve_where_the_rows_lie(drawn: Any) -> None:
    figure, _ = drawn(PARTS, X)
    x, y = figure.axes[0].lines[1].get_data()
    assert (x[0], x[-1]) == pytest.approx(np.quantile(X[:, 0], (0.005, 0.995)))
    assert np.max(np.abs(y - np.sin(x))) < 1e-3
    x, _ = figure.axes[3].lines[1].get_data()  # a product: no rows are drawn for it, so all of it
    assert (x[0], x[-1]) == (-3.0, 3.0)


def test_few_values_have_a_dot_and_a_column_each(drawn: Any) -> None:
    figure, _ = drawn(PARTS, X)
    panel = figure.axes[2]
    x, y = panel.lines[2].get_data()
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert y == pytest.approx(2.0 * np.cos(x), abs=1e-3)
    heights = np.array([bar.get_height() for bar in panel.patches])
    counts = np.bincount(X[:, 2].astype(int))
    assert heights / heights.max() == pytest.approx(counts / counts.max())


def test_the_density_is_where_the_rows_are_and_below_all_curves(drawn: Any) -> None:
    figure, _ = drawn(PARTS, X)
    bars = figure.axes[1].patches
    middles = np.array([bar.get_x() + bar.get_width() / 2 for bar in bars])
    heights = np.array([bar.get_height() for bar in bars])
    assert heights[(middles < 20.0) | (middles > 60.0)].sum() == 0.0
    assert heights[(middles > 22.0) & (middles < 58.0)].min() > 0.0
    lowest = min(float(curve.y.min()) for curve in PARTS.curves)
    assert max(bar.get_y() + bar.get_height() for bar in bars) < lowest


def test_without_rows_all_of_each_curve_and_no_density(drawn: Any) -> None:
    figure, _ = drawn(PARTS)
    for panel, curve in zip(figure.axes, PARTS.curves, strict=True):
        x, y = panel.lines[1].get_data()
        assert np.array_equal(x, curve.x)
        assert np.array_equal(y, curve.y)
        assert sum(bar.get_height() for bar in panel.patches) == 0.0
    assert figure.get_supylabel() == "effect"
