"""What the first rows of a source show of each of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel.data.clock import written
from onkel.data.columns import sample_rows
from onkel.data.table import Kind, Source, Table
from onkel.errors import FileError, InputError
from onkel.model.encoder import Encoder

VALUES_SHOWN, LONGEST_SHOWN = 4, 40  # characters of each


def described(source: Source, sample: Table, encoder: Encoder) -> dict[str, dict[str, Any]]:
    """Of each column its kind, the columns of X that it takes, and what is in the sample."""
    return {
        column.name: {
            "kind": source.kinds[column.name].value,
            "columns of X": column.width,
            **_seen(sample, column.name, column.kind),
        }
        for column in encoder.columns
    }


def as_cells(row: dict[str, Any]) -> dict[str, str]:
    """The same of one column, as cells of a table."""
    if "values" in row:
        seen = f"{row['values']} values: " + ", ".join(map(_short, row["first values"])) + "…" * (row["values"] > VALUES_SHOWN)
    else:
        ends = [f"{end:g}" if isinstance(end, float) else end for end in (row["least"], row["largest"])]
        seen = "nothing yet; if the values will not be numbers: --text or --dates" if row["least"] is None else " … ".join(ends)
    return {"kind": row["kind"], "columns of X": str(row["columns of X"]), "missing": str(row["missing"]), "seen": seen}


def sampling_error(source: Source) -> list[str]:
    """The error that ended the sample early, if any."""
    rows, enough = 0, sample_rows(len(source.kinds))
    try:
        for table in source.tables(sample=True):
            rows += len(table)
            if rows >= enough:
                break
    except (InputError, FileError) as error:
        return [f"after these rows: {error}"]
    return []


def _seen(sample: Table, name: str, kind: Kind) -> dict[str, Any]:
    """The number of missing values, and the range, or the number of values and the first of them."""
    if name in sample.strings:
        codes = sample.strings[name].codes
        values = [sample.strings[name].values[code] for code in dict.fromkeys(codes[codes >= 0].tolist())]
        return {"missing": int((codes < 0).sum()), "values": len(values), "first values": values[:VALUES_SHOWN]}
    found: Any = sample.dates[name].astype("datetime64[s]") if name in sample.dates else sample.numbers[:, sample.places[name]]
    there = found[~np.isnan(found)]
    least, largest = (_end(end, kind) for end in (there.min(), there.max())) if there.size else (None, None)
    return {"missing": len(found) - len(there), "least": least, "largest": largest}


def _end(value: Any, kind: Kind) -> Any:
    """An end of a range: a date or a time of day is written out."""
    if isinstance(value, np.datetime64):
        return str(value)
    return written(value) if kind is Kind.TIME else float(value)


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_SHOWN else value[:LONGEST_SHOWN] + "…"
