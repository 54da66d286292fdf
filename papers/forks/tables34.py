"""Tables 3 and 4: streams made against learners, of 500 blocks of one row repeated 10 times (Table 3) or 20 times (Table 4), 20
seeds.

    ONKEL_DATA=folder python -m papers.forks.tables34

In every second block the labels are flipped (`onkel.measure.adversaries.blocks`). Each stream is learnt with three sets of
settings. *The text*: B = 200, s_p = 0.75B, s_m = 0.2 s_p, k = 0.1B, ρ = ⌊0.005(N − B)⌋, a buffer of B points; the width is 50 for
all, as in the authors' script. *The script*: B = 100. *Equal bytes* (alike.py): each learner has as many bytes as FORKS takes with
the sizes of the text. With the first two sets of settings, inputs are used as they are stored. With the third, widths and paces are
chosen on a whole stream; with only its first 2,000 rows, SkeGD and NOGD got settings that suited only their first stage. A mistake
is counted in every round; "after stage 1" is how the authors' code counts for NOGD, SkeGD and FORKS.

Predicting the last label uses no input and is hard to beat here, so it is shown below every table. PKAWV with forgetting is onkel's
learner for streams that change. Writes table3.json, table3.md, table4.json and table4.md; takes seven minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from onkel.measure.adversaries import blocks
from papers.data import raw
from papers.forks import alike
from papers.forks.contenders import PAPER, Array, Setting
from papers.forks.tables import (
    Publication,
    Row,
    Stream,
    alike_table,
    as_published,
    paper_table,
    row,
    side_by_side,
    with_equal_bytes,
)
from papers.results import keep, kept, publish

BLOCKS = 500
WIDTH = 50.0
BUDGETS = {"the text": 200, "the authors' script": 100}
FORGETTING = 0.9
PUBLISHED = {  # name of the stream: set, repeats, figures
    "table3": {
        "codrna-1": ("cod-rna", 10, [(26.066, 1.435), (29.780, 1.257), (21.299, 1.364), (24.649, 5.087), (6.752, 1.647)]),
        "german-1": ("german", 10, [(32.131, 1.079), (28.103, 1.247), (17.174, 1.437), (11.026, 4.018), (5.142, 0.215)]),
    },
    "table4": {
        "codrna-2": ("cod-rna", 20, [(14.745, 0.063), (19.977, 1.536), (15.430, 2.315), (15.829, 2.583), (4.127, 0.769)]),
        "german-2": ("german", 20, [(21.290, 0.918), (16.527, 0.810), (11.187, 1.782), (5.742, 2.647), (2.960, 0.185)]),
    },
}
PLAYED = ["BOGD", "NOGD", "ProsNKONS", "SkeGD", "FORKS"]  # by the paper, in the order of its figures


def forgetful(at: Setting, seed: int) -> Any:
    """As many features as B."""
    return replace(alike.ridge_on_features(replace(at, budget=at.budget // 2), seed), forgetting=FORGETTING)


ROWS: dict[str, Row] = {
    **{name: row(PAPER[name]) for name in PLAYED},
    **{name: row(make) for name, make in PAPER.items() if name not in PLAYED},
    "FOGD, step 0.2 on features of unit length": row(lambda at, seed: replace(PAPER["FOGD"](at, seed), step=0.2)),
    f"PKAWV, B features, forgetting {FORGETTING}": row(forgetful),
}


def setting(rows: int, budget: int) -> Setting:
    period = int(0.005 * (rows - budget))
    return Setting(rows, budget, period, buffer=1.0, sketch=0.75, width=WIDTH, sketched_width=WIDTH)


def adversarial(name: str, repeats: int) -> Stream:
    X, y = raw(name)

    def stream(seed: int) -> tuple[Array, Array]:
        return blocks(X, y, BLOCKS, repeats, seed)

    return stream


def measured(which: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for title, (name, repeats, _) in PUBLISHED[which].items():
        stream, rows = adversarial(name, repeats), BLOCKS * repeats
        found[title] = {
            version: as_published(f"{title}, {version}", ROWS, setting(rows, budget), stream) for version, budget in BUDGETS.items()
        }
        at = setting(rows, BUDGETS["the text"])
        learners = alike.LEARNERS | alike.FORGETTING
        found[title]["alike"] = with_equal_bytes(f"{title}, equal bytes", learners, at, stream, rows)
    return found


def table(which: str, found: dict[str, Any]) -> Iterator[str]:
    yield f"# Table {which[-1]}"
    yield ""
    yield "Written by `ONKEL_DATA=folder python -m papers.forks.tables34`. Mistakes in percent, 20 streams: mean ± deviation."
    yield ""
    yield "## Equal bytes, widths and paces chosen in the same way: all rounds"
    yield ""
    yield from side_by_side(list(found), [of["alike"]["learners"] for of in found.values()])
    for title, of in found.items():
        name, repeats, figures = PUBLISHED[which][title]
        yield f"## {title}: {name}, {BLOCKS} blocks of {repeats}"
        yield ""
        published = {learner: Publication(*figure) for learner, figure in zip(PLAYED, figures, strict=True)}
        for version, budget in BUDGETS.items():
            yield f"The settings of {version}, B = {budget}:"
            yield ""
            yield from paper_table(of[version], published)
        same = of["alike"]
        rows = same["rows for the choice"]
        yield f"Equal bytes: {same['bytes']:,} each; width and pace chosen on {rows:,} rows of another stream:"
        yield ""
        yield from alike_table(same["learners"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tell", action="store_true", help="measure nothing: write the pages from the json files again")
    options = parser.parse_args()
    for which in PUBLISHED:
        here = Path(__file__).with_name(which)
        if not options.tell:
            keep(here, measured(which))
        publish(here, table(which, kept(here)))


if __name__ == "__main__":
    main()
