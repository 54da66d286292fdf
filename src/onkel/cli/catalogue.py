"""`onkel learners` and `onkel data`: what there is."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from typing import Any

import numpy as np

import onkel
from onkel.cli.options import Inputs, split
from onkel.data.named import catalogue
from onkel.data.table import Source
from onkel.report.page import Page
from onkel.report.tables import lines

LOSSES = ("Square", "Hinge", "SquaredHinge", "Logistic", "EpsilonInsensitive", "SquaredEpsilonInsensitive")


def list_learners(as_json: bool) -> None:
    rows = {name: about(getattr(onkel, name)) for name in onkel.learners.__all__}
    if as_json:
        print(json.dumps(rows))
        return
    page = Page()
    page.show(lines({name: {key: str(value) for key, value in row.items()} for name, row in rows.items()}))
    page.say("m, B: points kept; r: features; k: coordinates; t, n: rows so far. Write one as Python code: PKAWV(lam=0.1)")


def about(kind: Any) -> dict[str, str]:
    """What the header of its file and its fields say of a learner."""
    text = " ".join((sys.modules[kind.__module__].__doc__ or "").split())
    own = text[text.index(f"{kind.__name__}: O(") :] if f"{kind.__name__}: O(" in text else text
    cost = re.search(r"O\([^)]*\)(?= a row| a wrong row|,)", own)
    paper = re.search(r"(?:(?<=\. )|(?<=\] )|(?<=\) ))?([A-Z][^.:;()]*?) \(((?:19|20)\d\d)\)", text)
    tasks = "both" if len(kind.tasks) == 2 else next(iter(kind.tasks))
    return {
        "tasks": tasks,
        "losses": ", ".join(losses(kind)) or "its own",
        "a row costs": cost.group() if cost else "",
        "memory": "fixed" if kind.bounded else "grows",
        "paper": f"{_short(paper.group(1))} {paper.group(2)}" if paper else "",
    }


def losses(kind: Any) -> list[str]:
    """Those that its `loss` may be."""
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


def _short(authors: str) -> str:
    names = re.split(r", | & ", authors.split(". ")[-1])
    return names[0] if len(names) == 1 else " & ".join(names) if len(names) == 2 else f"{names[0]} et al."


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
    """The columns of a file, by its first rows."""
    from onkel.data.columns import AllBut, declared
    from onkel.data.files import look
    from onkel.data.looks import remarks
    from onkel.data.plan import planned, sampled

    columns, written = inputs.columns, inputs.format
    hashed = split(columns.hash) or ()
    kinds = declared(split(columns.text) or (), split(columns.dates) or (), hashed)
    but = AllBut(split(columns.without) or ())
    source = look(inputs.path, split(columns.columns) or but, kinds, written.format, written.header)
    sample = sampled(source)
    encoder = planned(sample, list(source.kinds), onkel.data.Missing.MEAN, hashed)
    rows = {}
    for column in encoder.columns:
        name = column.name
        if name in sample.names:
            values = sample.numbers[:, sample.names.index(name)]
            there = values[~np.isnan(values)]
            seen = (
                f"{there.min():g} … {there.max():g}" if there.size else "nothing yet; if they will be no numbers: --text or --dates"
            )
            gaps = int(np.isnan(values).sum())
        elif name in sample.texts:
            codes = sample.texts[name].codes
            values_seen = [sample.texts[name].values[code] for code in dict.fromkeys(codes[codes >= 0].tolist())]
            seen = f"{len(values_seen)} values: " + ", ".join(values_seen[:4]) + ("…" if len(values_seen) > 4 else "")
            gaps = int((codes < 0).sum())
        else:
            moments = sample.dates[name]
            seen = f"{np.nanmin(moments).astype('datetime64[s]')} … {np.nanmax(moments).astype('datetime64[s]')}"
            gaps = int(np.isnat(moments).sum())
        rows[name] = {"kind": source.kinds[name].value, "columns of X": str(column.width), "missing": str(gaps), "seen": seen}
    noted = [*source.notes(), *remarks(sample, (*(split(columns.text) or ()), *hashed)), *_trouble(source)]
    if as_json:
        about = {"file": source.name, "rows": source.rows, "sampled": len(sample)}
        print(json.dumps({**about, "columns": rows, "notes": noted}))
        return
    page = Page()
    page.say(f"{source.name}: {len(source.kinds)} columns; what its first {len(sample):,} rows show:")
    page.show(lines(rows, heading="column"))
    for note in noted:
        page.say(f"note: {note}", style="yellow")


def _trouble(source: Source) -> list[str]:
    """What is wrong with the first rows, where the sample had to end early."""
    from onkel.data.columns import SAMPLE_ROWS

    rows = 0
    try:
        for table in source.tables(sample=True):
            rows += len(table)
            if rows >= SAMPLE_ROWS:
                break
    except (onkel.InputError, onkel.FileError) as error:
        return [f"behind these rows: {error}"]
    return []
