"""The page of `onkel report` in Chromium: without network, light and dark, narrow and wide, by mouse and by keyboard, on paper."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.measure.effects import effects
from onkel.measure.importance import Importance, importance
from onkel.report.html import Contents, write
from tests.test_html_report import observed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LACKING = [name for name in ("playwright", "axe_core_python") if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (on Debian: apt-get install chromium)"),
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)} (pip install 'onkel[browser]')"),
]

WIDTHS = 320, 1920
CHART = '[data-chart="error-windows"]'


@pytest.fixture(scope="module", params=["numbers", "classes", "learners"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of each kind."""
    path = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    X, y = onkel.data.friedman(1200, dim=6, seed=0)
    if request.param == "classes":
        towns = np.random.default_rng(0).choice(["Bonn", "<b>Ulm", "", "a town with a very long name that does not end"], len(X))
        ranks = np.digitize(y, np.quantile(y, np.linspace(0.0, 1.0, 21)[1:-1]))
        rows = [
            {**{f"x{j}": float(x) for j, x in enumerate(row)}, "town": str(town) or None, "rank": f"rank {rank}"}
            for row, town, rank in zip(X, towns, ranks, strict=True)
        ]
        evaluation, stream = observed(rows, onkel.PKAWV(), target="rank")
    else:
        evaluation, stream = observed((X, y), onkel.Auto() if request.param == "numbers" else onkel.PKAWV())
    assert evaluation.observed is not None
    result, first = evaluation.result(stream), evaluation.observed.first
    if request.param == "learners":
        other, again = observed((X, y), onkel.PKAWV(lam=100.0))
        return write(path, Contents({"PKAWV": [result], "PKAWV(lam=100.0)": [other.result(again)]}, command="onkel compare x.csv"))
    found = importance(evaluation.model, stream, first, evaluation.observed.error, 60.0)
    assert isinstance(found, Importance)
    curves = effects(evaluation.model, evaluation.state, first, found.names)
    return write(path, Contents({"Auto": [result]}, {}, found, curves, "onkel report x.csv --target y", "0123456789abcdef"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Opened:
    """A page that was opened without network, and what went wrong on it."""

    def __init__(self, browser: Any, place: Path, width: int = 1280, scheme: str = "light", **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.wrong.extend([] if request.url.startswith("file:") else [request.url]))
        self.page.goto(place.as_uri())

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.wrong == []


def is_too_wide(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_opens_without_network_and_is_not_too_wide(browser: Any, place: Path, width: int, scheme: str) -> None:
    with Opened(browser, place, width, scheme) as opened:
        page = opened.page
        charts = page.locator(".plot[data-chart]").count()
        assert page.locator(".plot .uplot canvas").count() == charts > 1
        assert not page.locator(".plot .static").first.is_visible()
        assert not is_too_wide(page)
        for one in page.locator("details").all():
            one.evaluate("one => { one.open = true }")
        assert not is_too_wide(page)
        paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
        brightness = [sum(map(int, colour[4:-1].split(","))) for colour in (paper, ink)]
        assert (brightness[0] > brightness[1]) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, place: Path, scheme: str) -> None:
    import axe_core_python

    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
    with Opened(browser, place, 800, scheme, bypass_csp=True, reduced_motion="reduce") as opened:
        for one in opened.page.locator("details").all():
            one.evaluate("one => { one.open = true }")
        opened.page.evaluate(axe)
        found = opened.page.evaluate("axe.run()")
        said = [(one["impact"], one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]]
        assert [one for one in said if one[0] in ("serious", "critical")] == []
        assert len(found["passes"]) > 20


def test_hovering_shows_values_and_switches_hide_lines(browser: Any, place: Path) -> None:
    with Opened(browser, place) as opened:
        page = opened.page
        figure = page.locator("figure", has=page.locator(CHART))
        value, readout = figure.locator(".legend .value").first, figure.locator(".readout")
        usual = value.inner_text()
        over = figure.locator(".u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 60)
        page.mouse.move(box["x"] + 0.05 * box["width"], box["y"] + 60)
        assert readout.inner_text().startswith("row ")
        early = value.inner_text()
        page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60)
        assert len({early, value.inner_text(), usual}) == 3
        page.mouse.move(2, 2)
        assert value.inner_text() == usual
        before = figure.locator("canvas").evaluate("one => one.toDataURL()")
        button = figure.locator(".legend button").first
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        assert figure.locator("canvas").evaluate("one => one.toDataURL()") != before
        button.click()
        assert button.get_attribute("aria-pressed") == "true"


def test_dragging_and_keys_zoom_and_escape_shows_all(browser: Any, place: Path) -> None:
    with Opened(browser, place) as opened:
        page = opened.page
        figure = page.locator("figure", has=page.locator(CHART))
        over, reset = figure.locator(".u-over"), figure.locator(".reset")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        assert not reset.is_visible()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 50, steps=4)
        page.mouse.up()
        assert reset.is_visible()
        reset.click()
        assert not reset.is_visible()
        page.mouse.move(2, 2)
        figure.locator(".plot").focus()
        page.keyboard.press("ArrowRight")
        first = figure.locator(".readout").inner_text()
        page.keyboard.press("ArrowRight")
        assert first.startswith("row ")
        assert figure.locator(".readout").inner_text() != first
        page.keyboard.press("+")
        assert reset.is_visible()
        page.keyboard.press("Escape")
        assert not reset.is_visible()
        assert figure.locator(".readout").inner_text() == ""


def test_paper_has_static_pictures_in_light_colours_and_all_details(browser: Any, place: Path) -> None:
    with Opened(browser, place, scheme="dark") as opened:
        page = opened.page
        assert len(page.pdf(format="A4")) > 20_000
        page.emulate_media(media="print")
        assert page.locator(".plot .static svg").first.is_visible()
        assert not page.locator(".uplot").first.is_visible()
        assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()") == "#fff"
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0


def test_without_script_the_static_pictures_are_there(browser: Any, place: Path) -> None:
    with Opened(browser, place, java_script_enabled=False) as opened:
        assert opened.page.locator(".plot .static svg").first.is_visible()


@pytest.mark.long
def test_a_page_of_a_million_rows_is_small_and_opens_at_once(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 3))
    np.savez(tmp_path / "many.npz", X=X, y=X[:, 0] + rng.standard_cauchy(1_000_000))
    whole = [sys.executable, "-m", "onkel", "report", "many.npz", "--learner", "PKAWV", "--seconds", "5"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(whole, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    place = tmp_path / "many.html"
    assert place.stat().st_size < 5_000_000
    with Opened(browser, place) as opened:
        shown = opened.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        print(f"{place.stat().st_size / 1e6:.2f} MB, loaded after {shown:.0f} ms")
