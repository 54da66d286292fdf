"""No number of a claim is written by hand: each stands, as printed, in a result that a script has stored or written.

On the pages of papers/ every number with two significant digits or more must be among those of the pages that the folder's scripts
wrote, of RESULTS.md, or of the settings in its scripts. On the other pages it must be in docs/peers.md, docs/catalogue.md,
bench/stored.json, RESULTS.md or a page of papers/. A page may round off the last digit. Numbers that are no stored results (a
version, a setting, a trial that was not kept, the quotient of two others) stand in NO_RESULT, each with what it is.

A page whose figures are printed by a benchmark that is not stored yet stands in NOT_STORED. The set may only become smaller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from papers.jezequel2019 import figure2, figure3
from papers.lines import Stored

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
PAPERS = ("jezequel2019", "calandriello2017", "forks", "herbster2001", "zhang_simon2021")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = {"peers.md", "catalogue.md"}  # by scripts
NOT_STORED = {"performance.md"}
NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?:e[-−]?\d+)?")
YEAR = re.compile(r"(19|20)\d\d")

TRIAL = "a trial that was not kept"
TOGETHER = "computed from stored figures beside it"
BESIDE = "printed by the command beside it, on rows of the reader's or a set's"
SETTING = "a setting, a name or a number of the paper"

NO_RESULT: dict[str, dict[str, str]] = {
    "papers/jezequel2019/README.md": {"02019402": SETTING, "1.6": TOGETHER, "16": "minutes", "1885": "printed by make test-full"},
    "papers/calandriello2017/README.md": {
        "01537799": SETTING,
        "1.1": TOGETHER,
        "1188": TOGETHER,
        "3638": "in the picture",
        "98": TOGETHER,
        "2203": TOGETHER,
        "1500": "rows of streams of a test",
        "160": TOGETHER,
    },
    "papers/forks/README.md": {
        **dict.fromkeys(("12.6", "12.9", "32.8", "9.76"), TRIAL),
        **dict.fromkeys(("1284", "581012"), "rows of a set"),
        **dict.fromkeys(("17.4", "18.4", "19.3", "26", "9.45"), TOGETHER),
    },
    "papers/herbster2001/README.md": {
        **dict.fromkeys(("118.4", "122.4"), "degrees of longitude"),
        **dict.fromkeys(("1800", "5600", "1.1", "29"), TOGETHER),
        **dict.fromkeys(("7431", "14694"), "bench/additive.py on a quiet machine"),
        "16": "seconds",
    },
    "papers/zhang_simon2021/README.md": {
        **dict.fromkeys(("0.37", "0.55"), TRIAL),
        **dict.fromkeys(("0.084", "128", "4.1", "74", "28"), SETTING),
        **dict.fromkeys(("1.42", "2.2"), TOGETHER),
    },
    "README.md": {"2310": "rows of the set of make demo"},
    "docs/index.md": {"2310": "rows of the set of make demo"},
    "docs/data.md": {
        **dict.fromkeys(("1250", "30.5", "2100"), SETTING),
        **dict.fromkeys(("1.71", "2.48", "81.6"), BESIDE),
        **dict.fromkeys(("1313", "557", "24692"), "rows of a set"),
    },
    "docs/serve.md": {"503": "a status of HTTP"},
    "docs/sources.md": {"1460": "the number of a set at OpenML", "50482": "rows of a set"},
    "docs/promises.md": {"3.13": "a version"},
}


def numbers(text: str) -> Iterator[str]:
    """The numbers of a text with two significant digits or more, without those in code, in targets of links and in pictures."""
    text = re.sub(r"```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    for found in NUMBER.finditer(text):
        number = plain(found[0])
        if len(re.sub(r"e.*|\D", "", number).strip("0")) > 1 and not YEAR.fullmatch(number):
            yield number


def plain(number: str) -> str:
    return number.rstrip(",").replace(",", "").replace("−", "-")


def all_numbers(texts: Iterable[str]) -> set[str]:
    return {plain(found) for text in texts for found in NUMBER.findall(text)}


def of_scripts(folder: Path) -> set[str]:
    """The settings: numbers in the scripts, and in what they say of themselves."""
    return {
        number.replace("_", "") for path in folder.glob("*.py") for number in re.findall(r"\d[\d_.]*(?:e-?\d+)?", path.read_text())
    }


def written(folder: Path) -> Iterator[str]:
    """What the scripts of a paper have written, or print from what they have stored."""
    yield from (path.read_text() for path in folder.glob("*.md") if path.name != "README.md")
    if folder.name == "jezequel2019":
        stored = Stored(folder)
        found = stored("figure2")
        yield from (figure2.table(task, found[task.name]) for task in figure2.TASKS)
        yield figure2.shares(found)
        yield figure3.table(stored("figure3"))


def of_paper(name: str) -> set[str]:
    folder = ROOT / "papers" / name
    return all_numbers([*written(folder), (ROOT / "RESULTS.md").read_text()]) | of_scripts(folder)


def of_benchmarks() -> set[str]:
    ratios = json.loads((ROOT / "bench/stored.json").read_text())
    values = [value for bench in ratios.values() for value, _ in bench["ratios"].values()]
    told = {form for value in values for form in (f"{value:.3g}", f"{value:.2g}", f"{value:.0f}", f"{value:.1f}", f"{value:.2f}")}
    return told | all_numbers((ROOT / "docs" / page).read_text() for page in WRITTEN)


def rounded(known: set[str]) -> set[str]:
    """The numbers, and each with its last decimal rounded off."""
    more = set()
    for number in known:
        whole, _, decimals = number.partition(".")
        if decimals.isdigit() and whole.isdigit():
            more.add(f"{float(number):.{len(decimals) - 1}f}")
    return known | more


def unknown(page: Path, known: set[str]) -> list[str]:
    known = rounded(known)
    allowed = NO_RESULT.get(page.relative_to(ROOT).as_posix(), {})
    return sorted({number for number in numbers(page.read_text()) if number not in known and number not in allowed})


@pytest.mark.parametrize("name", PAPERS)
def test_numbers_of_a_report_come_from_its_results(name: str) -> None:
    assert unknown(ROOT / f"papers/{name}/README.md", of_paper(name)) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in WRITTEN | NOT_STORED], ids=lambda page: page.name)
def test_numbers_of_a_page_come_from_stored_results(page: Path) -> None:
    reports = (path.read_text() for path in (ROOT / "papers").glob("*/*.md"))
    assert unknown(page, of_benchmarks() | all_numbers([*reports, (ROOT / "RESULTS.md").read_text()])) == []


def test_a_number_that_nobody_has_measured_is_found(tmp_path: Path) -> None:
    assert list(numbers("It takes 12.34 µs and `99.9` more, 5,678 rows, in 2021, 3 times, [a](b-77.md) 1e-16")) == ["12.34", "5678"]
    assert "12.34" not in of_paper("herbster2001")
