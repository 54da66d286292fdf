"""`onkel learners` and `onkel data`: the lists of learners and of data sets."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import onkel
from onkel.cli.options import Inputs, split
from onkel.data.named import catalogue
from onkel.report.catalogue import about, grouped
from onkel.report.page import Page, lines


def learners() -> dict[str, Any]:
    """All public learners by their names, in the order of `onkel.__all__`."""
    public = {name: getattr(onkel, name) for name in onkel.__all__}
    return {name: kind for name, kind in public.items() if hasattr(kind, "learn") and hasattr(kind, "cut_tolerance")}


def list_learners(as_json: bool) -> None:
    kinds = learners()
    rows = {name: about(kind) for name, kind in kinds.items()}
    if as_json:
        print(json.dumps(rows))
        return
    page = Page()
    for group, names in grouped(kinds):
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


def _in_short(row: dict[str, str]) -> dict[str, str]:
    """A learner's line in the table."""
    return {key: row[key] for key in ("take it", "tasks", "a row costs", "memory")}


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
    from onkel.data.columns import choose, remarks
    from onkel.data.reading import open_tables
    from onkel.model import Missing
    from onkel.model.plan import Wishes, assumptions, planned, sampled
    from onkel.report.columns import as_cells, described, sampling_error

    target, hashed, named = inputs.target.target, split(inputs.columns.hash), inputs.columns.named()
    reading = dataclasses.replace(inputs.reading, **{**named, "text": (*named["text"], *hashed)})
    source = open_tables(inputs.path, reading)
    sample = sampled(source)
    choose(source.name, list(source.kinds), [] if target is None else [target])
    encoder = planned(sample, source.kinds, Missing.MEAN, Wishes(hashed, inputs.columns.periods), labels=1 if target else 0)
    rows = described(source, sample, encoder)
    assumed = assumptions([column for column in encoder.columns if column.name != target], sample, target or "the target")
    noted = [*source.notes(), *assumed, *remarks(sample, reading.text), *sampling_error(source)]
    if as_json:
        about = {"file": source.name, "rows": source.rows, "sampled": len(sample)}
        print(json.dumps({**about, "columns": rows, "notes": noted}))
        return
    page = Page()
    page.say(f"{source.name}: {len(source.kinds)} columns; what its first {len(sample):,} rows show:")
    page.show(lines({name: as_cells(row) for name, row in rows.items()}, heading="column"))
    page.note(noted)
