"""How the columns of a source are encoded, unless somebody says it: the first rows decide.

A text column gets twice as many columns of X as it has values there, at least 4; with more than 32 values, or where somebody says
so, it is hashed. A column in which a value is missing there gets an indicator. Dates get the time of day only if there is any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing

import numpy as np

from onkel.data.columns import sample_rows
from onkel.data.table import Source, Table, joined
from onkel.errors import FileError, InputError
from onkel.model.encoder import Encoder, Missing
from onkel.model.encodings import Column, Cyclic, Hashed, Number, OneHot

LEAST_ROOM, MOST_VALUES = 4, 32
HASHED_WIDTH = 64


def sampled(source: Source) -> Table:
    """The first rows."""
    tables: list[Table] = []
    rows, enough = 0, sample_rows(len(source.kinds))
    with closing(source.tables(sample=True)) as whole:
        try:
            for table in whole:
                tables.append(table)
                rows += len(table)
                if rows >= enough:
                    break
        except (InputError, FileError):  # it will be met again, behind the rows before it
            if not rows:
                raise
    if not rows:
        raise FileError(f"{source.name} has no rows; write the data again")
    return joined([table for table in tables if len(table)])[:enough]


def planned(
    sample: Table, names: Sequence[str], missing: Missing, hashed: Collection[str] = (), spare: int = 0,
    ignored: Sequence[str] = (), grows: bool = False,
) -> Encoder:  # fmt: skip
    """Columns that are to be `hashed` are strings."""
    numbers = sample.numbers if isinstance(sample.numbers, np.ndarray) else sample.numbers.toarray()
    gaps = dict(zip(sample.names, np.asarray(np.isnan(numbers).any(axis=0)).tolist(), strict=True))
    indicate = missing is Missing.MEAN
    columns = tuple(_planned(sample, name, gaps, indicate, name in hashed) for name in names)
    return Encoder(columns, missing, spare, tuple(ignored), grows)


def _planned(sample: Table, name: str, gaps_of: Mapping[str, bool], indicate: bool, hashed: bool) -> Column:
    if name in sample.strings:
        codes = sample.strings[name].codes
        values = len(np.unique(codes[codes >= 0]))
        indicator = indicate and bool((codes < 0).any())
        if hashed or values > MOST_VALUES:
            return Hashed(name, HASHED_WIDTH, indicator)
        return OneHot(name, max(LEAST_ROOM, 2 * values), indicator)
    if name in sample.dates:
        moments = sample.dates[name]
        gaps = np.isnat(moments)
        clock = bool((moments[~gaps] != moments[~gaps].astype("datetime64[D]")).any())
        return Cyclic(name, day=clock, indicator=indicate and bool(gaps.any()))
    return Number(name, indicate and gaps_of[name])
