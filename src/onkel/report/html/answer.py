"""The head of a page: the answer in two sentences, the main figures, and what to know."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from onkel.measure import Result
from onkel.measure.importance import NotMeasured
from onkel.measure.metrics import Accuracy, Explained, LogLoss, Metric
from onkel.report.html.columns import not_measured
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, element, joined
from onkel.report.html.ticks import shown
from onkel.report.results import LEVEL, changes, counted, heading, memory

PHRASES = {
    "running mean": "predicting the mean so far",
    "most frequent label": "predicting the most frequent label so far",
    "last label": "repeating the last label",
}


def headline(contents: Contents) -> Html:
    """The answer: what was predicted how well, compared with the better of the two baselines."""
    return joined(_answer(contents, element))


def sentences(contents: Contents) -> list[str]:
    """The same and the second sentence as plain text."""
    return ["".join(_answer(contents, lambda tag, said: said)), second_sentence(contents.main)]


def _answer(contents: Contents, marked: Callable[[str, str], str]) -> list[str]:
    """The parts of the answer; `marked` emphasises a part as an element of this name."""
    result, metric = contents.main, contents.metric
    target = marked("code", result.target)
    if result.rows == 1:
        return [contents.best, " has met a single row of ", target, ": nothing was known before it"]
    error = contents.error_of(contents.best)
    figure, rows = marked("strong", shown(metric.name, error)), counted(result.rows, "row")
    said = ["an rms error of ", figure, f" over {rows}"] if metric.name == "rmse" else ["mistakes in ", figure, f" of {rows}"]
    if (later := contents.later_error(contents.best)) is not None:
        said.append(f" ({shown(metric.name, later.error)} in the last {later.rows:,})")
    against = [part for part in (_against_others(contents, error), _against_baseline(result, metric, error)) if part]
    several = len(contents.runs) + len(contents.peers)
    first, best = (f"Of {several} learners, {contents.best}", " best,") if several > 1 else (contents.best, "")
    return [f"{first} predicts ", target, f"{best} with ", *said, *(f", {part}" for part in against), "."]


def _against_others(contents: Contents, error: float) -> str:
    """Compared with the second best learner."""
    others = {name: contents.error_of(name) for name in (*contents.runs, *contents.peers) if name != contents.best}
    if not others:
        return ""
    second = min(others, key=lambda name: others[name])
    return relation(error, others[second], second)


def _against_baseline(result: Result, metric: Metric, error: float) -> str:
    errors = {name: means[metric.name] for name, means in result.baselines.items() if metric.name in means}
    if not errors:
        return ""
    best = min(errors, key=lambda name: errors[name])
    return relation(error, errors[best], PHRASES.get(best, best))


def relation(error: float, other: float, name: str) -> str:
    """As in "41% less than repeating the last label"; empty if it cannot be said."""
    if not (math.isfinite(error) and math.isfinite(other)) or other <= 0.0:
        return ""
    share = error / other
    if abs(share - 1.0) < 0.005:
        return f"as much as {name}"
    if share > 2.0:
        return f"{share:,.1f} times as much as {name}"
    return f"{abs(1.0 - share):.0%} {'less' if share < 1.0 else 'more'} than {name}"


def second_sentence(result: Result) -> str:
    """How far to trust it, and what it costs."""
    parts = []
    if result.coverage and result.rows > 1:
        parts.append(f"its {float(LEVEL):.0%} intervals held {result.coverage[LEVEL]:.1%} of the labels")
    if result.reliability is not None and result.rows > 1:
        parts.append(f"its probabilities were off by {result.reliability.calibration_error:.2g} on average")
    if result.microseconds_per_row is not None:
        parts.append(f"a row took {result.microseconds_per_row:,.1f} µs")
    parts.append(f"the model takes {memory(result.bytes)}")
    said = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"Every row was predicted before its label was learnt; {said}."


def head(contents: Contents) -> Html:
    result = contents.main
    tiles = [(title, value, note) for title, value, note in _figures(contents) if value]
    listed = [
        element("div", element("dt", title), element("dd", value, element("span", note, cls="unit") if note else ""))
        for title, value, note in tiles
    ]
    return element(
        "header",
        element("p", "onkel report", cls="kicker"),
        element("h1", headline(contents)),
        element("p", second_sentence(result), cls="lede"),
        element("p", heading(result), cls="source"),
        element("dl", *listed, cls="tiles"),
    )


def _figures(contents: Contents) -> list[tuple[str, str, str]]:
    result, first = contents.main, contents.metric
    found = [("rows", f"{result.rows:,}", "")]
    for metric in (first, Explained(), Accuracy(), LogLoss()):
        value = contents.mean(contents.best, metric.name)
        if result.rows > 1 and math.isfinite(value):
            found.append((metric.title, shown(metric.name, value), ""))
    if result.microseconds_per_row is not None:
        found.append(("time a row", f"{result.microseconds_per_row:,.1f}", "µs"))
    size, unit = memory(result.bytes).split()
    return [*found, ("memory", size, unit)]


def know(contents: Contents) -> Section | None:
    """Notes, findings and changes."""
    result = contents.main
    found = ["; ".join(result.findings)] if result.findings and result.rows > 1 else []
    said = [*(f"the stream {one}" for one in changes(result)), *found, *result.notes]
    if len(contents.runs) > 1:
        said += _notes_of_others(contents)
    if isinstance(contents.importance, NotMeasured):
        said.append(not_measured(contents.importance))
    said = list(dict.fromkeys(said))
    if not said:
        return None
    names = {result.target, *contents.runs, *(() if result.observed is None else (one.name for one in result.observed.columns))}
    return Section("know", "What to know", element("ul", *(element("li", _sentence(one, names)) for one in said), cls="know"))


def _notes_of_others(contents: Contents) -> list[str]:
    """The notes on learners other than the best, each once, with the names of the learners that it is about."""
    about: dict[str, list[str]] = {}
    for name, one in contents.results.items():
        for note in dict.fromkeys(one.notes):
            about.setdefault(note, []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in about.items() if note not in contents.main.notes]


def _sentence(said: str, names: Collection[str]) -> str:
    """With a capital letter, unless it begins with the name of a column or learner, and a full stop."""
    begins = any(said.startswith(name) and not said[len(name) : len(name) + 1].isalnum() for name in names)
    return f"{said if begins else said[:1].upper() + said[1:]}{'' if said.endswith('.') else '.'}"
