"""What a result says besides its figures: what was learnt, how the target was taken, what to try next."""

from __future__ import annotations

from pathlib import Path

from onkel import data
from onkel.cli.model import Model
from onkel.cli.opening import numbered
from onkel.cli.options import Inputs
from onkel.cli.tally import Means, Tally
from onkel.data.target import Value, cell
from onkel.report.tables import number

LABELS_SHOWN = 6
LIKE_CLASSES = 10  # different whole numbers: the target may be one of classes
FORGETTING = 0.99  # to try where labels come in runs


def heading(model: Model, stream: data.Stream) -> str:
    wide = "" if model.encoder.width == len(stream.names) else f" in {model.encoder.width} columns"
    made = f"{model.tally.rows:,} rows, {len(stream.names)} inputs{wide}, {model.task} of {model.target.name}"
    if model.task == "classification":
        some = ", ".join(str(cell(label)) for label in model.labels[:LABELS_SHOWN])
        made += f", {len(model.labels)} classes: {some}{', …' if len(model.labels) > LABELS_SHOWN else ''}"
    return f"{short(stream.name)}: {made}"


def short(name: str) -> str:
    """Without the folder, where it is a file's."""
    return Path(name).name or name


def shown(tally: Tally, means: Means) -> dict[str, str]:
    return {name: number(name, value) for name, value in tally.columns(means).items()}


def references(model: Model) -> dict[str, dict[str, str]]:
    return {f"the {name}": shown(model.tally, means) for name, means in model.tally.references().items()}


def notes(model: Model, stream: data.Stream, inputs: Inputs) -> list[str]:
    return [*stream.notes(), *model.notes(), *on_the_target(model, stream, inputs), *_on_the_error(model)]


def on_the_target(model: Model, stream: data.Stream, inputs: Inputs) -> list[str]:
    if inputs.target.task != "auto" or not isinstance(model.target, Value) or not (few := numbered(stream, LIKE_CLASSES)):
        return []
    values = ", ".join(str(cell(value)) for value in few)
    return [
        f"{model.target.name} has the values {values}, which were taken as numbers; if they name classes: --task classification"
    ]


def _on_the_error(model: Model) -> list[str]:
    """Where a guess without the inputs does better."""
    measure, error = next(iter(model.tally.means().items()))
    better = [name for name, means in model.tally.references().items() if means[measure] < error]
    if not better:
        return []
    if better == ["last label"]:
        said = "the last label alone does better: labels come in runs"
        if getattr(model.own, "forgetting", None) == 1.0:
            said += f"; a learner that forgets may follow them: --learner 'PKAWV(forgetting={FORGETTING})'"
        return [said]
    both = " and the ".join(better)
    return [f"the {both} {'does' if len(better) == 1 else 'do'} better than the learner; see others with: onkel compare"]
