"""The HTML pages of runs and comparisons: what they need is gathered here, and made into a page by `onkel.report.html`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onkel.cli.options import Inputs
from onkel.data.reading import STANDARD_INPUT
from onkel.errors import InputError
from onkel.measure import Result
from onkel.measure.comparison import Contender
from onkel.measure.effects import Effect, effects
from onkel.measure.importance import Importance, NotMeasured, importance
from onkel.persist.places import check_page, check_place
from onkel.persist.run import Run
from onkel.report.html import Contents, write
from onkel.report.html.answer import sentences
from onkel.report.html.columns import most_important
from onkel.report.html.curves import CURVES
from onkel.report.page import Page, plain

PACKED = (".gz", ".xz", ".bz2", ".zst")
SECONDS = 20.0  # for the importance of columns


def default_place(inputs: Inputs) -> Path:
    """The name of the (first) file with .html, in the current folder."""
    if inputs.paths[0] == STANDARD_INPUT:
        return Path("report.html")
    name = Path(Path(inputs.paths[0]).name)
    return (name.with_suffix("") if name.suffix in PACKED else name).with_suffix(".html")


def check_html(option: str, place: Path, inputs: Inputs) -> None:
    """Refuse a place where no page can be written, before any work is done."""
    if place.suffix not in (".html", ".htm"):
        raise InputError(f"cannot write {place}: the name of a page must end in .html")
    check_place(option, place, inputs.paths)
    check_page(option, place)


def page_of_run(path: Path, run: Run, result: Result, seconds: float | None) -> Contents:
    """Measure what the columns are worth, for so many seconds (None: SECONDS), and write the page. Returns what is on it."""
    seconds = SECONDS if seconds is None else seconds
    found: Importance | NotMeasured | None = None
    curves: tuple[Effect, ...] = ()
    evaluation, observed = run.evaluation, run.evaluation.observed
    if observed is None or not observed.first or seconds == 0.0:
        pass
    elif run.earlier or not observed.is_from_start:
        found = NotMeasured("the model goes on from rows that are not there to be learnt again")
    else:
        with _telling(f"measuring what each column is worth, for at most {seconds:g} s") as tell:
            model, state = evaluation.model, evaluation.state
            found = importance(model, run.stream, observed.first, observed.error, seconds, tell)
            names = found.names if isinstance(found, Importance) else run.stream.names
            if len(names) <= CURVES or isinstance(found, Importance):  # else the first columns would be an arbitrary choice
                curves = effects(model, state, observed.first, names[:CURVES])
    name = result.name.partition("(")[0]  # its settings are at the end of the page
    contents = Contents(
        {name: [result]}, importance=found, effects=curves, command=command(), checksum=run.seen.value if run.seen else ""
    )
    write(path, contents)
    return contents


def page_of_comparison(path: Path, contenders: Sequence[Contender], checksum: str) -> None:
    write(path, Contents({one.name: one.results for one in contenders}, command=command(), checksum=checksum))


def command() -> str:
    """The command that the user has typed."""
    return shlex.join(["onkel", *sys.argv[1:]])


def said_first(contents: Contents) -> list[str]:
    """What the terminal says of a page: its answer, and the most important columns."""
    return [sentence for sentence in (*sentences(contents), most_important(contents)) if sentence]


def importance_json(found: Importance | NotMeasured | None) -> dict[str, Any]:
    """The errors with and without each column, and each group of strongly correlated columns."""
    if not isinstance(found, Importance):
        return {}
    permutation = {"learnt": found.learnt, "scored": found.scored, "error": found.error, "permuted": found.permuted}
    left_out = {"rows": found.rows, "error": found.whole, "without": found.without}
    together = [
        {"columns": one.names, "correlation": one.correlation, "permuted": one.permuted, "without": one.without}
        for one in found.together
    ]
    measured = {"by_permutation": permutation, "by_leaving_out": left_out, "together": together}
    return {"importance": {**measured, "in_time": found.in_time}}


@contextmanager
def _telling(said: str) -> Iterator[Callable[[str], None]]:
    """Say what is being done: once in a log, all the time in a terminal."""
    page = Page(errors=True)
    if not page.console.is_interactive:
        page.say(said)
        yield lambda step: None
        return
    with page.console.status(plain(said)) as status:
        yield lambda step: status.update(plain(f"{said}: {step}"))
