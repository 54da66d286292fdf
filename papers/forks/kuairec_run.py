"""Appendix J.2: five learners on KuaiRec's small matrix, for budgets from 100 to 500.

    ONKEL_DATA=folder python -m papers.forks.kuairec_run

The stream is that of kuairec.py, 4.5 million rows in the order of time, read from the folder `kuairec` of ONKEL_DATA. **If that
folder is not there, a generated stream of the same shape takes its place**: about as many columns, made of users and videos, and
labels that depend on both. The page then says so in its first line, and no figure of it says anything about KuaiRec. At most the
first 100,000 rows are learnt, standardised by the rows so far.

The settings are those of contenders.py with ρ = 0.3N. The published figure is a picture without numbers, so there is nothing to
compare a figure with. Writes kuairec_run.json and kuairec_run.md; takes a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from papers.forks import kuairec
from papers.forks.alike import standardised
from papers.forks.contenders import PAPER, Array, Setting, last_label, majority, play
from papers.results import main

ROWS = 100_000  # the most that are learnt
BUDGETS = [100, 200, 300, 400, 500]
LEARNERS = ["BOGD", "NOGD", "ProsNKONS", "SkeGD", "FORKS"]
THETA = 0.3  # ρ/N
USERS, VIDEOS, USER_COLUMNS, VIDEO_COLUMNS = 1411, 3327, 25, 30  # of the generated stream, about as many as KuaiRec has


def generated(rows: int, seed: int = 0) -> tuple[Array, Array]:
    """A stream of KuaiRec's shape: a duration, a user's columns and a video's; a label that depends on all of them, with noise."""
    rng = np.random.default_rng(seed)
    users, videos = rng.normal(size=(USERS, USER_COLUMNS)), rng.normal(size=(VIDEOS, VIDEO_COLUMNS))
    duration = rng.lognormal(9.0, 0.5, size=rows)
    user, video = rng.integers(0, USERS, rows), rng.integers(0, VIDEOS, rows)
    liking = users[user, 0] * videos[video, 0] + users[user, 1] + videos[video, 1] - np.log(duration) + 9.0
    return np.column_stack([duration, users[user], videos[video]]), np.where(liking + rng.normal(size=rows) > 0.0, 1.0, -1.0)


def stream() -> tuple[Array, Array, bool]:
    """X, y, and whether they are KuaiRec's."""
    folder = Path(os.environ.get("ONKEL_DATA", "")) / "kuairec"
    if not folder.is_dir():
        return *generated(ROWS), False
    found = kuairec.load(folder)
    rows = min(ROWS, len(found.y))
    return found.rows(0, rows), found.y[:rows], True


def measured() -> dict[str, Any]:
    X, y, real = stream()
    X = standardised(X)
    jobs = [(name, budget) for name in LEARNERS for budget in BUDGETS]
    rates: dict[str, list[list[float | None]]] = {name: [] for name in LEARNERS}
    for name, budget in track(jobs, "KuaiRec" if real else "a stream of KuaiRec's shape", console=Console(stderr=True)):
        at = Setting(rows=len(y), budget=budget, period=int(THETA * len(y)))
        one = play(PAPER[name](at, 0), X, y)
        rates[name].append([one.rate, one.seconds])
    references = {"the last label": last_label(X, y).rate, "the more frequent label": majority(X, y).rate}
    return {"real": real, "rows": len(y), "columns": X.shape[1], "rates": rates, "references": references}


def table(found: dict[str, Any]) -> Iterator[str]:
    yield "# KuaiRec, hinge loss"
    yield ""
    if not found["real"]:
        yield "**KuaiRec's files were not there: this is a generated stream of their shape, and says nothing about KuaiRec.**"
        yield ""
    yield f"{found['rows']:,} rows, {found['columns']} columns. Mistakes in percent of all rounds, and seconds of one thread."
    yield ""
    yield "| B = | " + " | ".join(f"{budget}" for budget in BUDGETS) + " |"
    yield "|---" + "|--:" * len(BUDGETS) + "|"
    for name, each in found["rates"].items():
        yield f"| {name} | " + " | ".join(f"{100.0 * rate:.2f}, {seconds:.2f} s" for rate, seconds in each) + " |"
    for name, rate in found["references"].items():
        yield f"| {name} | " + " | ".join([f"{100.0 * rate:.2f}"] * len(BUDGETS)) + " |"


if __name__ == "__main__":
    main(__file__, measured, table)
