"""`onkel learners` and `onkel data`: the lists of learners and of data sets."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

import onkel
from onkel.cli.options import Inputs, split
from onkel.data.clock import written
from onkel.data.named import catalogue
from onkel.data.table import Kind, Source, Table
from onkel.groups import Group
from onkel.report.page import Page, lines

VALUES_SHOWN, LONGEST_SHOWN = 4, 40  # characters of each
LOSSES = ("Square", "Hinge", "SquaredHinge", "Logistic", "EpsilonInsensitive", "SquaredEpsilonInsensitive")


def learner_names() -> list[str]:
    """The names of all public learners, in the order of `onkel.__all__`."""
    return [name for name in onkel.__all__ if hasattr(kind := getattr(onkel, name), "learn") and hasattr(kind, "cut_tolerance")]


def list_learners(as_json: bool) -> None:
    rows = {name: about(getattr(onkel, name)) for name in learner_names()}
    if as_json:
        print(json.dumps(rows))
        return
    page = Page()
    for group, names in _grouped():
        page.say("")
        page.say(f"{group.value[0].upper()}{group.value[1:]}:")
        page.show(lines({name: _in_short(rows[name]) for name in names}))
    page.say("")
    page.say(
        "m, B: points kept; r: features; k: coordinates; μ, s: points and columns of a sketch; T, J: trees and their candidates; "
        "dim: inputs; t, n: rows so far; a kernel value costs O(dim)"
    )
    page.say(
        "Write one as Python code: PKAWV(lam=0.1). In Python, help(onkel.PKAWV) explains its settings. Losses and papers: --json"
    )


def _grouped() -> list[tuple[Group, list[str]]]:
    """The groups that have learners, each with their names."""
    kinds = {name: getattr(onkel, name) for name in learner_names()}
    groups = [(group, [name for name, kind in kinds.items() if kind.group is group]) for group in Group]
    return [(group, names) for group, names in groups if names]


def _in_short(row: dict[str, str]) -> dict[str, str]:
    """A learner's line in the table."""
    return {key: row[key] for key in ("take it", "tasks", "a row costs", "memory")}


def about(kind: Any) -> dict[str, str]:
    """What people want to know of a learner, from its class and its fields."""
    usual = kind()  # an instance, because the tasks of a wrapper depend on the learner inside it
    return {
        "group": kind.group.value,
        "take it": kind.when,
        "tasks": "both" if len(usual.tasks) == 2 else next(iter(usual.tasks)),
        "losses": ", ".join(losses(kind)) or "its own",
        "a row costs": kind.cost,
        "memory": ", ".join(filter(None, (kind.memory, "fixed" if usual.bounded else "grows"))),
        "paper": kind.paper,
    }


def losses(kind: Any) -> list[str]:
    """The losses that its field `loss` accepts."""
    if "loss" not in {field.name for field in dataclasses.fields(kind)}:
        return []
    fitting = []
    for name in LOSSES:
        try:
            kind(loss=getattr(onkel, name)())
        except onkel.InputError:
            continue
        fitting.append(name)
    return ["any"] if len(fitting) == len(LOSSES) else fitting


def list_data(as_json: bool) -> None:
    found = list(catalogue())
    if as_json:
        keys = ("name", "origin", "task", "rows", "remark")
        print(json.dumps([{key: getattr(one, key) for key in keys} for one in found]))
        return
    page = Page()
    cells = {
        one.name: {"from": one.origin, "task": one.task, "rows": f"{one.rows:,}" if one.rows else "", "remark": one.remark}
        for one in found
    }
    page.show(lines(cells, heading="name"))
    page.say("learn one: onkel run NAME; look at one: onkel data NAME. ONKEL_DATA names a folder with more.")


def describe_data(inputs: Inputs, as_json: bool) -> None:
    """Show the columns of a file, as far as its first rows tell."""
    from onkel.data.columns import choose
    from onkel.data.reading import open_tables
    from onkel.data.sniffing import remarks
    from onkel.model import Missing
    from onkel.model.plan import Wishes, assumptions, planned, sampled

    target, hashed, named = inputs.target.target, split(inputs.columns.hash), inputs.columns.named()
    reading = dataclasses.replace(inputs.reading, **{**named, "text": (*named["text"], *hashed)})
    source = open_tables(inputs.path, reading)
    sample = sampled(source)
    choose(source.name, list(source.kinds), [] if target is None else [target])
    encoder = planned(sample, source.kinds, Missing.MEAN, Wishes(hashed, inputs.columns.periods), labels=1 if target else 0)
    rows = {
        column.name: {
            "kind": source.kinds[column.name].value,
            "columns of X": column.width,
            **_seen(sample, column.name, column.kind),
        }
        for column in encoder.columns
    }
    assumed = assumptions([column for column in encoder.columns if column.name != target], sample, target or "the target")
    noted = [*source.notes(), *assumed, *remarks(sample, reading.text), *_sampling_error(source)]
    if as_json:
        about = {"file": source.name, "rows": source.rows, "sampled": len(sample)}
        print(json.dumps({**about, "columns": rows, "notes": noted}))
        return
    page = Page()
    page.say(f"{source.name}: {len(source.kinds)} columns; what its first {len(sample):,} rows show:")
    page.show(lines({name: _as_cells(row) for name, row in rows.items()}, heading="column"))
    page.note(noted)


def _seen(sample: Table, name: str, kind: Kind) -> dict[str, Any]:
    """A summary of a column in the first rows: the number of missing values; then the range or, for strings, the number of values
    and the first ones."""
    if name in sample.strings:
        codes = sample.strings[name].codes
        values = [sample.strings[name].values[code] for code in dict.fromkeys(codes[codes >= 0].tolist())]
        return {"missing": int((codes < 0).sum()), "values": len(values), "first values": values[:VALUES_SHOWN]}
    found: Any = sample.dates[name].astype("datetime64[s]") if name in sample.dates else sample.numbers[:, sample.places[name]]
    there = found[~np.isnan(found)]
    ends = [there.min(), there.max()] if there.size else [None, None]
    least, largest = [
        str(end)
        if isinstance(end, np.datetime64)
        else written(end)
        if kind is Kind.TIME and end is not None
        else end and float(end)
        for end in ends
    ]
    return {"missing": len(found) - len(there), "least": least, "largest": largest}


def _as_cells(row: dict[str, Any]) -> dict[str, str]:
    """A column of a file as cells of a table."""
    if "values" in row:
        seen = f"{row['values']} values: " + ", ".join(map(_short, row["first values"])) + "…" * (row["values"] > VALUES_SHOWN)
    else:
        ends = [f"{end:g}" if isinstance(end, float) else end for end in (row["least"], row["largest"])]
        seen = "nothing yet; if the values will not be numbers: --text or --dates" if row["least"] is None else " … ".join(ends)
    return {"kind": row["kind"], "columns of X": str(row["columns of X"]), "missing": str(row["missing"]), "seen": seen}


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_SHOWN else value[:LONGEST_SHOWN] + "…"


def _sampling_error(source: Source) -> list[str]:
    """The error that ended the sample early, if any."""
    from onkel.data.columns import sample_rows

    rows, enough = 0, sample_rows(len(source.kinds))
    try:
        for table in source.tables(sample=True):
            rows += len(table)
            if rows >= enough:
                break
    except (onkel.InputError, onkel.FileError) as error:
        return [f"after these rows: {error}"]
    return []
