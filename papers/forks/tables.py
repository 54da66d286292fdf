"""How Tables 2, 3 and 4 are measured and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from papers.forks import alike
from papers.forks.contenders import Array, Played, Setting, last_label, majority, play

SEEDS = 20  # permutations, or adversarial streams
UNCOUNTED = 1000  # the seed of the stream on which widths and paces are chosen

SCREEN = Console(stderr=True)

Stream = Callable[[int], tuple[Array, Array]]  # seed -> X, y
Row = Callable[[Setting, Array, Array, int], Played]
REFERENCES: dict[str, Row] = {
    "the last label": lambda at, X, y, seed: last_label(X, y),
    "the more frequent label": lambda at, X, y, seed: majority(X, y),
}


@dataclass(frozen=True)
class Publication:
    """A published mean and deviation, in percent."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def row(make: Callable[[Setting, int], Any]) -> Row:
    return lambda at, X, y, seed: play(make(at, seed), X, y)


def as_published(title: str, rows: dict[str, Row], at: Setting, stream: Stream) -> dict[str, Any]:
    """Each row on the stream of each seed."""
    played: dict[str, list[Played]] = {name: [] for name in rows | REFERENCES}
    for seed in track(range(SEEDS), title, console=SCREEN):
        X, y = stream(seed)
        for name, one in (rows | REFERENCES).items():
            played[name].append(one(at, X, y, seed))
    return {name: _kept(runs) for name, runs in played.items()}


def with_equal_bytes(title: str, learners: dict[str, alike.Learner], at: Setting, stream: Stream, rows: int) -> dict[str, Any]:
    """The learners with equal bytes; width and pace are chosen on this many rows."""
    X, y = stream(UNCOUNTED)
    nbytes = alike.allowance(at, X.shape[1])
    X, y = alike.standardised(X[:rows]), y[:rows]
    chosen = {
        name: alike.choose(learner, at, X, y, nbytes)
        for name, learner in track(learners.items(), f"{title}: choice", console=SCREEN)
    }
    found = as_published(title, {name: _row(one) for name, one in chosen.items()}, at, lambda seed: _standardised(*stream(seed)))
    for name, one in chosen.items():
        width = one.setting.width / X.shape[1] ** 0.5
        found[name] |= {"budget": one.setting.budget, "width": width, "pace": one.learner.pace, "times": one.times}
    return {"bytes": nbytes, "rows for the choice": rows, "learners": found}


def _row(chosen: alike.Chosen) -> Row:
    return lambda at, X, y, seed: play(chosen.make(seed), X, y)


def _standardised(X: Array, y: Array) -> tuple[Array, Array]:
    return alike.standardised(X), y


def _kept(runs: list[Played]) -> dict[str, Any]:
    seconds = [one.seconds for one in runs if one.seconds is not None]
    stages = [one.stage_1 for one in runs if one.stage_1 is not None]
    return {
        "all": [one.rate for one in runs],
        "late": [one.late_rate for one in runs] if stages else None,
        "stage 1": float(np.mean(stages)) if stages else None,
        "microseconds": 1e6 * float(np.median(seconds)) / len(runs[0].mistakes) if seconds else None,
        "bytes": max(one.nbytes for one in runs),
    }


def percent(rates: list[float] | None) -> str:
    """Mean and deviation; empty where there are none."""
    if rates is None:
        return ""
    return f"{100.0 * np.mean(rates):.2f} ± {100.0 * np.std(rates):.2f}"


def counted(of: dict[str, Any]) -> float:
    """The mean in percent, with the mistakes that the authors' code counts."""
    return 100.0 * float(np.mean(of["late"] if of["late"] is not None else of["all"]))


def paper_table(found: dict[str, Any], published: dict[str, Publication]) -> Iterator[str]:
    """The settings of the paper."""
    yield "| | published | all rounds | after stage 1 | rows of stage 1 | µs a row |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, of in found.items():
        stage = f"{of['stage 1']:.0f}" if of["stage 1"] is not None else ""
        cells = [str(published.get(name, "")), percent(of["all"]), percent(of["late"]), stage, _microseconds(of)]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def alike_table(found: dict[str, Any]) -> Iterator[str]:
    """Equal bytes, widths and paces chosen alike."""
    yield "| | all rounds | budget | width/√dim | pace | µs a row |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, of in found.items():
        cells = [percent(of["all"])]
        if "budget" in of:
            cells += [
                f"{of['budget']:,}",
                f"{of['width']:g}",
                f"{of['times']:g} × {of['pace']}" if of["pace"] else "",
                _microseconds(of),
            ]
        else:
            cells += ["", "", "", ""]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def side_by_side(titles: list[str], columns: list[dict[str, Any]]) -> Iterator[str]:
    """All rounds, one column a stream; the best learner of each in bold."""
    yield "| | " + " | ".join(titles) + " |"
    yield "|---" + "|--:" * len(titles) + "|"
    learners = [name for name in columns[0] if name not in REFERENCES]
    best = [min(learners, key=lambda name: float(np.mean(column[name]["all"]))) for column in columns]
    for name in columns[0]:
        cells = [percent(column[name]["all"]) for column in columns]
        yield f"| {name} | " + " | ".join(f"**{cell}**" if name == b else cell for cell, b in zip(cells, best, strict=True)) + " |"
    yield ""


def _microseconds(of: dict[str, Any]) -> str:
    return f"{of['microseconds']:.1f}" if of["microseconds"] is not None else ""
