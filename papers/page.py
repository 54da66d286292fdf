"""RESULTS.md: every table and figure of the five papers, ours beside the published, written from the stored results.

python -m papers.page                       write RESULTS.md again
python -m papers.page --texts FOLDER        are the quotations in the texts of the papers?
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from papers import made
from papers.lines import TIMES, Line, Ours, Paper, Stored, lines, told

ROOT = Path(__file__).parents[1]
PAGE = "RESULTS.md"
PAPERS = ("jezequel2019", "calandriello2017", "forks", "herbster2001", "zhang_simon2021")
HEAD = """\
# Results: five papers, ours beside the published

Written by `python -m papers.page` from the results that the scripts of [papers](papers) store. Do not edit it.

- **ours** is a mean; the range behind it says where a repetition should lie: the smallest and the largest of the runs, three
  standard errors, or a factor of {times:g} for times. Seeds are fixed: with the versions and the processor named at the end all but
  times come out as shown.
- **difference** is ours minus the published figure.
- `make papers` repeats every script at a smaller size in about 15 minutes, and says which figures lie outside their range.
  `make papers FULL=1` repeats everything, in about three hours. Scripts that read real data need `ONKEL_DATA=folder`;
  the reports say which, and how long each takes.
- To check one figure, after `make setup`, in the top folder of the repository: `.venv/bin/python -m papers --full --out mine
  zhang_simon2021.design` runs the script that stands above the table, without `papers.`, and writes into the folder `mine`.
  `.venv/bin/python -m papers --check --out mine` then prints each of its figures beside the one stated here. (The command
  above a table runs the script alone, and replaces the results that are stored in the repository.)
- We had the texts of the papers without their pictures. A statement of the text is quoted where it has no number.
"""


def papers(folder: Path) -> Iterator[tuple[Paper, list[Line]]]:
    for name in PAPERS:
        paper: Paper = import_module(f"papers.{name}.lines").PAPER
        yield paper, lines(paper, Stored(folder / "papers" / name))


def page(folder: Path) -> str:
    parts = [HEAD.format(times=TIMES)]
    found = list(papers(folder))
    for paper, of in found:
        parts += [f"## {paper.title}\n", f"[Report](papers/{paper.folder}/README.md)\n", *_scripts(of)]
        parts += [f"- **{place}** holds settings, no results: {what}." for place, what in paper.settings]
        parts += [f"- **Not to be had here: {place}**: {why}." for place, why in paper.missing]
        parts.append("")
    parts += _made(folder, [line.script for _, of in found for line in of])
    return "\n".join(parts).rstrip() + "\n"


def _scripts(found: list[Line]) -> Iterator[str]:
    """One table for each script, since its command repeats all of them."""
    for script in dict.fromkeys(line.script for line in found):
        yield f"`python -m papers.{script}`\n"
        yield "| place | what | ours | published | difference | why |"
        yield "|---|---|--:|--:|--:|---|"
        yield from (_row(line) for line in found if line.script == script)
        yield ""


def _row(line: Line) -> str:
    difference = "" if line.published.value is None else told(line.ours.value - line.published.value, _signed(line.form))
    cells = [line.place, line.what, _ours(line.ours, line.form), line.published.told(line.form), difference, line.why]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _ours(ours: Ours, form: str) -> str:
    value, low, high = (told(one, form) for one in (ours.value, ours.low, ours.high))
    return f"{value} ({ours.spread})" if low == high else f"{value} ({low} to {high}: {ours.spread})"


def _signed(form: str) -> str:
    return f"+{form}"


def _made(folder: Path, scripts: list[str]) -> Iterator[str]:
    yield "## How each result was made\n"
    yield "From papers/made.json, which `python -m papers` keeps. Other versions and machines change times, and last digits.\n"
    yield "| script | commit | date | size | seconds | Python, NumPy, SciPy, Numba | machine |"
    yield "|---|---|---|---|--:|---|---|"
    for script in dict.fromkeys(scripts):
        if (of := made.of(folder, script)) is None:
            yield f"| {script} | not recorded: made before records were kept, or changed since | | | | | |"
        else:
            versions = ", ".join(of[name] for name in ("python", *made.PACKAGES))
            yield f"| {script} | {of['commit']} | {of['date']} | {of['size']} | {of['seconds']:,} | {versions} | {of['machine']} |"
    yield ""


def write(folder: Path) -> None:
    (folder / PAGE).write_text(page(folder), encoding="utf-8")


def compare(stored: Path, other: Path) -> int:
    """Print each figure of another run beside the stated one. 1 if one is outside the stated range, or if there is none, else 0."""
    known = {(line.script, line.place, line.what): line for _, of in papers(stored) for line in of}
    outside = seen = 0
    for line in (line for _, of in papers(other) for line in of):
        stated = known.get((line.script, line.place, line.what))
        if stated is None or not line.quick:
            continue
        seen += 1
        is_outside = not _within(line.ours.value, stated)
        outside += is_outside
        got, verdict = told(line.ours.value, line.form), "OUTSIDE" if is_outside else "within"
        print(f"{verdict}: {line.script}, {line.place}: {line.what}: {got}, stated {_ours(stated.ours, line.form)}")
    if not seen:
        print(f"there is nothing to compare in {other}; run scripts first, such as: python -m papers forks.table1 (see --help)")
        return 1
    print(f"{seen} figures compared, {outside} outside their range")
    return min(outside, 1)


def _within(value: float, stated: Line) -> bool:
    """Whether it lies in the range, up to the digits shown."""
    room = 0.5 * 10.0 ** -_digits(stated.form) + 1e-6 * abs(stated.ours.value)
    return stated.ours.low - room <= value <= stated.ours.high + room


def _digits(form: str) -> int:
    found = re.search(r"\.(\d+)f", form)
    return int(found[1]) if found else 6


def unquoted(texts: Path) -> list[str]:
    """Quotations that do not stand in the text of their paper."""
    lost: list[str] = []
    for paper, of in papers(ROOT):
        text = " ".join((texts / paper.text).read_text(encoding="utf-8").split())
        quotes = dict.fromkeys(line.published.quote for line in of)
        lost += [f"{paper.folder}: {quote}" for quote in quotes if " ".join(quote.split()) not in text]
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a folder with the texts of the papers")
    options = parser.parse_args()
    if options.texts is None:
        write(ROOT)
    elif lost := unquoted(options.texts):
        raise SystemExit("not in the texts:\n" + "\n".join(lost))


if __name__ == "__main__":
    main()
