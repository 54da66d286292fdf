"""What a result says besides its figures: what was learnt, how the target was taken, what to try next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onkel import data
from onkel.cli.model import Model
from onkel.cli.opening import numbered
from onkel.cli.options import Inputs
from onkel.cli.tally import Means, Tally
from onkel.combine import Auto
from onkel.data.plan import MOST_VALUES
from onkel.data.target import Value, cell
from onkel.measure import explain
from onkel.report.tables import number

LABELS_SHOWN = 6
LEVEL = "0.9"  # of the intervals in the table
ENOUGH_ROWS = 100  # for a word on who does better
LIKE_CLASSES = 10  # different whole numbers: the target may be one of classes
IDENTIFIES = 0.95  # of the rows have a value of their own: names, numbers of tickets


def heading(model: Model, stream: data.Stream, lags: int) -> str:
    wide = "" if model.encoder.width == len(stream.names) else f" in {model.encoder.width} columns"
    inputs = f"{len(stream.names)} input" + "s" * (len(stream.names) != 1)
    made = f"{model.tally.rows:,} rows, {inputs}{wide}, {model.task} of {model.target.name}"
    if model.task == "classification":
        some = ", ".join(str(cell(label)) for label in model.labels[:LABELS_SHOWN])
        made += f", {len(model.labels)} classes: {some}{', …' if len(model.labels) > LABELS_SHOWN else ''}"
    if lags:
        made += f"; the last {lags} labels are inputs too" if lags > 1 else "; the last label is an input too"
    behind = f", behind {model.earlier:,} rows of earlier files" if model.earlier else ""
    return f"{short(stream.name)}{behind}: {made}"


def short(name: str) -> str:
    """Without the folder, where it is a file's."""
    return Path(name).name or name


def shown(tally: Tally, means: Means) -> dict[str, str]:
    return {name: number(name, value) for name, value in tally.columns(means).items()}


def covered(models: Sequence[Model]) -> dict[str, str]:
    """The share of labels within their interval, in the mean over runs."""
    shares = [model.coverage[LEVEL] for model in models if model.coverage]
    return {f"in {float(LEVEL):.0%} interval": f"{sum(shares) / len(shares):.1%}"} if shares else {}


def references(model: Model) -> dict[str, dict[str, str]]:
    return {f"the {name}": shown(model.tally, means) for name, means in model.tally.references().items()}


def decided(model: Model) -> list[str]:
    """What Auto has found out about the stream, in a few sentences; nothing for other learners."""
    return explain(model.learner, model.state).sentences if isinstance(model.own, Auto) else []


def notes(model: Model, stream: data.Stream, inputs: Inputs) -> list[str]:
    on_rows = on_the_order(model, model.lags) or _on_the_error(model)
    return [*stream.notes(), *model.notes(), *on_the_inputs(stream), *on_the_target(model, stream, inputs), *on_rows]


def on_the_order(model: Model, lags: int) -> list[str]:
    """Where labels are sorted, the last one tells the next."""
    if not lags or model.tally.rows < ENOUGH_ROWS or not model.tally.is_sorted:
        return []
    remedy = "--shuffle 0 if the order of the rows has no meaning, else --lags 0"
    return [f"the rows come sorted by {model.target.name}: with earlier labels as inputs the error means nothing; say {remedy}"]


def on_the_inputs(stream: data.Stream) -> list[str]:
    """Texts that tell rows apart and nothing else."""
    found = []
    for name in stream.names:
        codes = stream.sample.texts[name].codes if name in stream.sample.texts else np.empty(0)
        there = codes[codes >= 0]
        if len(there) > MOST_VALUES and len(np.unique(there)) >= IDENTIFIES * len(there):
            found.append(name)
    names = ",".join(found)
    return [f"{names}: nearly every row has another value, from which little can be learnt: --without {names}"] if found else []


def on_the_target(model: Model, stream: data.Stream, inputs: Inputs) -> list[str]:
    if inputs.target.task != "auto" or not isinstance(model.target, Value) or not (few := numbered(stream, LIKE_CLASSES)):
        return []
    values = f"the value{'s' * (len(few) > 1)} {', '.join(str(cell(value)) for value in few)}"
    return [f"{model.target.name} has {values}, which were taken as numbers; if they name classes: --task classification"]


def _on_the_error(model: Model) -> list[str]:
    """Where a guess without the inputs does better, and not by chance."""
    if model.tally.rows < ENOUGH_ROWS:
        return []
    measure, error = next(iter(model.tally.means().items()))
    better = [name for name, means in model.tally.references().items() if means[measure] < error]
    if not better:
        return []
    if better == ["last label"]:
        follow = "the learner adds nothing to it so far" if model.lags else "try it as an input: --lags 3"
        return [f"the last label alone does better: {follow}; if the order of the rows has no meaning: --shuffle 0"]
    both = f"the {' and the '.join(better)} {'does' if len(better) == 1 else 'do'} better than the learner"
    said = f"the inputs may say little of {model.target.name}; a stiffer learner may lose less: PKAWV(lam=100)"
    return [f"{both}: {said}"]
