"""The style of pictures: names beside lines never touch, settings of matplotlib are left as they were, colours are legible."""

import re
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from onkel.report.palette import Dark, Light
from onkel.report.style import _apart, headline, ink, looks, name_ends

pytestmark = pytest.mark.once

GRAPHICS, LETTERS = 3.0, 4.5  # the contrasts that WCAG 2 asks of lines and of letters


def named(palette: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(palette).items() if name.isupper()}


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2, from 1 to 21."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("palette", [Light, Dark])
def test_a_palette_can_be_seen_on_its_paper(palette: Any) -> None:
    assert list(named(palette)) == list(named(Light))
    for name, value in named(palette).items():
        for colour in value if isinstance(value, tuple) else (value,):
            assert re.fullmatch("#[0-9A-F]{6}", colour), name
    for name in ("INK", "MUTED", "LEARNER", "MEAN"):
        assert contrast(named(palette)[name], palette.PAPER) >= LETTERS, name
    for name in ("BOUND", "GOOD", "BAD"):
        assert contrast(named(palette)[name], palette.PAPER) >= GRAPHICS, name
    for colour in palette.OTHERS:
        assert contrast(ink(colour, palette), palette.PAPER) >= 4.0  # in letters; lines have their name beside them
    assert len({palette.LEARNER, palette.MEAN, palette.LAST, *palette.OTHERS}) == 8


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_names_keep_their_order_and_their_distance(ends: list[float]) -> None:
    places = _apart(np.array(ends), 0.05)
    order = np.argsort(ends, kind="stable")
    assert np.all(np.diff(places[order]) >= 0.05 - 1e-9)
    alone = [abs(end - np.delete(ends, k)).min(initial=1.0) > 0.05 * len(ends) for k, end in enumerate(ends)]
    assert np.array_equal(places[alone], np.array(ends)[alone])


def test_names_in_a_picture_do_not_touch() -> None:
    with looks():
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        for k in range(4):
            axes.plot([0.0, 1.0], [float(k), 0.01 * k], label=f"line {k}")
        axes.plot([0.0, 1.0], [np.nan, np.nan][:2], label="_not named")
        name_ends(axes)
        headline(figure, "a finding " * 12)
        figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert [text.get_text() for text in axes.texts] == [f"line {k}" for k in range(4)]
    assert all(below.y1 <= above.y0 + 1.0 for below, above in pairwise(boxes))
    assert "\n" in figure.get_suptitle()


def test_settings_are_as_before_also_after_an_error() -> None:
    before = dict(matplotlib.rcParams)

    @looks(Dark)
    def draw() -> None:
        assert matplotlib.rcParams["figure.facecolor"] == Dark.PAPER
        raise RuntimeError

    with pytest.raises(RuntimeError):
        draw()
    assert dict(matplotlib.rcParams) == before
