"""Table 2: mistakes with a fixed budget on six sets, each in 20 permutations.

    ONKEL_DATA=folder python -m papers.forks.table2

Each learner is run with two sets of settings. *The settings of the paper* are those of its text, and of its code where the text is
silent (contenders.py): B = 50, or 100 for more than 10,000 rows, and inputs as they are stored. *Equal bytes* is described in
alike.py.

A mistake is counted in every round. The authors' code counts those of NOGD, SkeGD and FORKS only after their first stage, and
divides by all rows: this is the column "after stage 1". Some learners are in the table several times, to see which settings
reproduce the published figures: with the sizes of the code's only script of this kind, B̃ = 200, s_p = 150, s_m = 100, k = 15; with
the width of FORKS; with sign(0) = −1, which the code has for PROS-N-KONS alone; and as release.py has them. svmguide3 is the
training part, 1,243 rows (with the 41 test rows, all +1, FORKS had 22.8 after stage 1, far from 19.7); of ijcnn1 both parts are
used. Writes table2.json and table2.md; takes a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import onkel
from papers.data import raw
from papers.forks import alike, release
from papers.forks.contenders import PAPER, Array, Setting, forks, nogd, play, pros_n_kons, skegd
from papers.forks.tables import (
    Publication,
    Row,
    Stream,
    alike_table,
    as_published,
    counted,
    paper_table,
    row,
    side_by_side,
    with_equal_bytes,
)
from papers.results import main

SETS = {"german": None, "svmguide3": 1243, "spambase": None, "cod-rna": None, "w7a": None, "ijcnn1": None}  # rows taken; None: all
SMALL = 10_000  # sets with at most this many rows get half the budget
THETA = 0.3  # ρ/N
MOST_ROWS = 2000  # for the choice of width and pace
NEAR = 1 / 20  # a figure is reproduced if it is within this share of the published one
PUBLISHED = {
    "RBP": [(38.830, 0.152), (29.698, 1.644), (35.461, 0.842), (22.644, 0.262), (5.963, 0.722), (21.024, 0.578)],
    "BPAS": [(35.235, 0.944), (29.027, 0.732), (34.394, 2.545), (17.029, 0.303), (3.001, 0.045), (11.114, 0.064)],
    "Projectron": [(36.875, 1.403), (25.060, 0.373), (32.659, 0.914), (19.257, 4.688), (3.174, 0.014), (9.478, 0.001)],
    "BOGD": [(33.705, 1.446), (29.904, 1.653), (32.859, 0.478), (17.305, 0.146), (3.548, 0.164), (11.559, 0.174)],
    "FOGD": [(30.915, 0.845), (30.024, 0.787), (25.651, 0.349), (13.103, 0.105), (2.893, 0.053), (9.674, 0.105)],
    "NOGD": [(26.715, 0.552), (19.964, 0.077), (31.003, 0.751), (17.915, 3.315), (2.579, 0.007), (9.379, 0.001)],
    "ProsNKONS": [(31.235, 0.939), (24.529, 0.561), (32.227, 0.678), (13.387, 0.289), (3.016, 0.007), (9.455, 0.001)],
    "SkeGD": [(25.170, 0.391), (19.976, 0.105), (32.413, 1.886), (13.274, 0.262), (2.706, 0.335), (11.898, 1.440)],
    "FORKS": [(26.425, 0.562), (19.710, 0.557), (30.662, 0.670), (12.795, 0.360), (2.561, 0.038), (9.381, 0.001)],
}
CODE = {"buffer": 200, "sketch": 150, "landmarks": 100, "rank": 15}  # sizes


def with_sizes_of_code(name: str) -> Row:
    if name == "NOGD":
        return row(lambda at, seed: replace(nogd(at), budget=CODE["buffer"], rank=CODE["rank"]))
    if name == "SkeGD":
        return row(lambda at, seed: replace(skegd(at, seed), **CODE, lam=0.0))
    return row(lambda at, seed: replace(forks(at, seed), **CODE))


def opposite(at: Setting, X: Array, y: Array, seed: int) -> Any:
    """PROS-N-KONS on labels of the opposite sign, so that a score of 0 counts as −1 for the original labels."""
    return play(pros_n_kons(at, seed), X, -y)


ROWS: dict[str, Row] = {
    "RBP": row(PAPER["RBP"]),
    "RBP, as in the authors' code": release.rbp,
    "BPAS": row(PAPER["BPAS"]),
    "Projectron": row(PAPER["Projectron"]),
    "Projectron, as in the authors' code": release.projectron,
    "BOGD": row(PAPER["BOGD"]),
    "FOGD": row(PAPER["FOGD"]),
    "FOGD, step 0.2 on features of unit length": row(lambda at, seed: replace(PAPER["FOGD"](at, seed), step=0.2)),
    "NOGD": row(PAPER["NOGD"]),
    "NOGD, sizes of the code": with_sizes_of_code("NOGD"),
    "NOGD, width of FORKS": row(lambda at, seed: nogd(replace(at, width=at.sketched_width))),
    "ProsNKONS": row(PAPER["ProsNKONS"]),
    "ProsNKONS, sign(0) = −1": opposite,
    "SkeGD": row(PAPER["SkeGD"]),
    "SkeGD, sizes of the code": with_sizes_of_code("SkeGD"),
    "FORKS": row(PAPER["FORKS"]),
    "FORKS, sizes of the code": with_sizes_of_code("FORKS"),
    "Forgetron": row(alike.LEARNERS["Forgetron"].make),
    "ProjectronPP": row(alike.LEARNERS["ProjectronPP"].make),
    "PKAWVNystroem, 100 points": row(lambda at, seed: onkel.PKAWVNystroem(at.kernel, keep_history=False, budget=100, seed=seed)),
}


def permuted(name: str) -> Stream:
    X, y = raw(name)
    X, y = X[: SETS[name]], y[: SETS[name]]

    def stream(seed: int) -> tuple[Array, Array]:
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]

    return stream


def setting(rows: int) -> Setting:
    return Setting(rows=rows, budget=50 if rows <= SMALL else 100, period=int(THETA * rows))


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in SETS:
        stream = permuted(name)
        X, y = stream(0)
        at = setting(len(y))
        found[name] = {
            "rows": len(y),
            "columns": X.shape[1],
            "budget": at.budget,
            "paper": as_published(f"{name}, the paper's settings", ROWS, at, stream),
            "alike": with_equal_bytes(f"{name}, equal bytes", alike.LEARNERS, at, stream, min(len(y) // 2, MOST_ROWS)),
        }
    return found


def publications(name: str) -> dict[str, Publication]:
    """The published figures of a set. A variant is compared with the figure of its learner."""
    column = list(SETS).index(name)
    of = {learner: Publication(*figures[column]) for learner, figures in PUBLISHED.items()}
    return of | {variant: of[variant.split(",")[0]] for variant in ROWS if variant.split(",")[0] in of}


def table(found: dict[str, Any]) -> Iterator[str]:
    yield "# Table 2"
    yield ""
    yield "Written by `ONKEL_DATA=folder python -m papers.forks.table2`. Mistakes in percent, 20 permutations: mean ± deviation."
    yield ""
    yield "## The published figures, and ours counted as the authors' code counts"
    yield ""
    yield "Of NOGD, SkeGD and FORKS only the mistakes after stage 1 are counted, of the others all; both are divided by all rows."
    yield "Cells show published → ours, in **bold** where ours is within a twentieth of the published figure. Rows with a comma are"
    yield "other readings of the settings. We added them after we had seen the published figures, so a match by one of them"
    yield "explains a figure and does not confirm it."
    yield ""
    yield from _comparison(found)
    yield "## Equal bytes, widths and paces chosen in the same way: all rounds"
    yield ""
    yield from side_by_side(list(found), [of["alike"]["learners"] for of in found.values()])
    for name, of in found.items():
        yield f"## {name}: {of['rows']:,} rows, {of['columns']} columns"
        yield ""
        yield f"The settings of the paper, B = {of['budget']}:"
        yield ""
        yield from paper_table(of["paper"], publications(name))
        same = of["alike"]
        rows = same["rows for the choice"]
        yield f"Equal bytes: {same['bytes']:,} each; width and pace chosen on {rows:,} rows of another permutation:"
        yield ""
        yield from alike_table(same["learners"])


def _comparison(found: dict[str, Any]) -> Iterator[str]:
    yield "| | " + " | ".join(found) + " |"
    yield "|---" + "|--:" * len(found) + "|"
    met: dict[bool, dict[tuple[str, str], list[bool]]] = {True: {}, False: {}}  # by the text's settings, by another reading
    for name in ROWS:
        learner, cells = name.split(",")[0], []
        if learner not in PUBLISHED:
            continue
        for data, of in found.items():
            printed, ours = publications(data)[name], counted(of["paper"][name])
            near = abs(ours - printed.mean) <= NEAR * printed.mean
            met[name == learner].setdefault((learner, data), []).append(near)
            cell = f"{printed.mean:.2f} → {ours:.2f}"
            cells.append(f"**{cell}**" if near else cell)
        yield f"| {name} | " + " | ".join(cells) + " |"
    shares = [100.0 * float(np.mean(of["paper"]["the more frequent label"]["all"])) for of in found.values()]
    yield "| the more frequent label | " + " | ".join(f"{share:.2f}" for share in shares) + " |"
    yield ""
    first = {at for at, near in met[True].items() if any(near)}
    later = {at for at, near in met[False].items() if any(near)} - first
    yield f"Of {len(met[True])} published figures the first reading reproduces {len(first)}, and another one {len(later)} more."
    yield ""


if __name__ == "__main__":
    main(__file__, measured, table)
