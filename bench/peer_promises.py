"""Checks what onkel's Auto promises compared with its peers, on the figures of one run. Promises about sets that were not run are
left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from peer_capymoa import printed
from peer_models import LINEAR
from peer_tables import Sheet, mean
from timing import Verdicts

# the sets whose mean is promised
NAMED = frozenset({
    "abalone", "airlines07", "bike", "cadata", "casp", "cod-rna", "covtype", "cpusmall", "elec2", "german", "household_power",
    "ijcnn1", "kin8nm", "mackey_glass", "mg", "phishing", "spambase", "susy30k", "svmguide3",
})  # fmt: skip
RATIO, RATIO_WITH_LAGS = 0.60, 0.51
NARROW, FASTER, NEVER_BELOW, RIDGE_ROWS = 20, 35.0, 10.0, 45.0
CAPYMOA_SETS, CAPYMOA_WON = 15, 13


def judge(sheets: Sequence[Sheet]) -> Verdicts:
    verdicts, judged = Verdicts(), sheets[0].judged
    _errors(verdicts, sheets, judged)
    _times(verdicts, [sheet for sheet in sheets if sheet.dim <= NARROW], judged)
    behind = [sheet.name for sheet in sheets if sheet.classify and _is_surprised(sheet)]
    verdicts.at_most(
        _named(f"sets where {judged}'s log loss is above the forest's or the logistic regression's", behind), len(behind), 1
    )
    beside = [sheet for sheet in sheets if printed(sheet.name)]
    if len(beside) == CAPYMOA_SETS:
        lost = [sheet.name for sheet in beside if sheet.own.early >= min(one.error for one in printed(sheet.name).values())]
        what = _named(f"sets of {CAPYMOA_SETS} where {judged} is below CapyMOA's better one, first rows", lost, "not")
        verdicts.at_least(what, CAPYMOA_SETS - len(lost), CAPYMOA_WON)
    return verdicts


def _errors(verdicts: Verdicts, sheets: Sequence[Sheet], judged: str) -> None:
    ratios = {sheet.name: sheet.own.error / sheet.forest.error for sheet in sheets}
    lost = [name for name, ratio in ratios.items() if not ratio < 1.0]
    verdicts.at_most(_named(f"sets where {judged}'s error is not below the forest's", lost), len(lost), 0)
    named = [sheet for sheet in sheets if sheet.name in NAMED]
    if len(named) < len(NAMED):
        return
    what = f"error over the forest's, geometric mean of the {len(NAMED)} sets"
    verdicts.at_most(what, mean(ratios[sheet.name] for sheet in named), RATIO)
    if named[0].judged_with_lags in named[0].lines:
        with_lags = mean(sheet.lines[sheet.judged_with_lags].error / sheet.forest.error for sheet in named)
        verdicts.at_most(f"{what}, with lags", with_lags, RATIO_WITH_LAGS)


def _times(verdicts: Verdicts, narrow: Sequence[Sheet], judged: str) -> None:
    if not narrow:
        return
    took = {sheet.name: sheet.own.microseconds or math.nan for sheet in narrow}
    faster = {sheet.name: sheet.forest_now / took[sheet.name] for sheet in narrow}
    rows = {sheet.name: took[sheet.name] / sheet.ridge for sheet in narrow}
    slowest, dearest = min(faster, key=faster.__getitem__), max(rows, key=rows.__getitem__)
    verdicts.at_least(
        f"times faster than the forest, geometric mean of {len(narrow)} sets with at most {NARROW} inputs",
        mean(faster.values()),
        FASTER,
    )
    verdicts.at_least(f"times faster, at worst ({slowest})", faster[slowest], NEVER_BELOW)
    verdicts.at_most(f"rows of a ridge on 100 features for one of {judged}'s, at worst ({dearest})", rows[dearest], RIDGE_ROWS)


def _is_surprised(sheet: Sheet) -> bool:
    others = [sheet.forest, *(sheet.lines[name] for name in (LINEAR.name,) if name in sheet.lines)]
    return (sheet.own.log_loss or 0.0) > min(other.log_loss or math.inf for other in others)


def _named(what: str, sets: Sequence[str], sign: str = "") -> str:
    return f"{what} ({' '.join([sign, *sets]).strip()})" if sets else what
