"""`read`: a stream of blocks (X, y) from a file, a pipe or a table in memory, in bounded memory, every value checked on the way.

    stream = read("prices.csv", target="price")
    for X, y in stream: ...                        # float64, at most `block` rows; iterate again to read again

The name tells the format; what each may hold is said in its own file. Packed files (gz, xz, bz2, zst) are unpacked on the way.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from onkel.data.columns import choose, declared, listed, repeated
from onkel.data.csv_file import open_csv
from onkel.data.encoder import Missing, policy
from onkel.data.input import File, Growing, Input, check_file, reading, standard_input
from onkel.data.npz_file import open_npz
from onkel.data.plan import planned, sampled
from onkel.data.stream import Stream
from onkel.data.table import Kind, Source
from onkel.data.target import Label, Signs, Target, Value, two_labels
from onkel.errors import FileError, InputError

STANDARD_INPUT = "-"

Opener = Callable[[Input, Sequence[str] | None, Mapping[str, Kind]], Source]
LINES: dict[str, Opener] = {
    ".csv": open_csv,
    ".tsv": lambda source, wanted, kinds: open_csv(source, wanted, kinds, separators="\t"),
}
LABELS = {".npz": "y"}  # what formats themselves call the label
PACKED = (".gz", ".xz", ".bz2", ".zst")


def read(
    path: str | os.PathLike[str],
    target: str | None = None,
    block: int = 4096,
    columns: Sequence[str] | None = None,
    missing: Missing | str = Missing.REFUSE,
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    labels: tuple[Label, Label] | None = None,
    follow: float | None = None,
    format: str | None = None,
) -> Stream:
    """Open a file as a stream of blocks of `block` rows (the last may be shorter).

    path     a file, or "-" for the standard input
    target   the column that y comes from; npz and libsvm files know theirs
    columns  those that X is made from, in the order wanted; the others are not looked at
    missing  what becomes of a missing value: "refuse" it, fill in the "mean" so far, or "drop" the row
    text     columns that are texts though they look like numbers, such as postcodes; `dates`: columns of dates (ISO 8601)
    labels   two classes, low and high, which y gives as -1 and 1; found by itself where the target is text
    follow   go on as the file grows, until it has been still for so many seconds (math.inf: for ever)
    format   what the end of the name would say, such as ".csv"

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "flats.csv").write_text("size,town,price\\n50,Bonn,210\\n,Ulm,350\\n70,Bonn,330\\n")
    ...     stream = read(Path(folder, "flats.csv"), target="price", missing="mean")
    ...     print(*((X.tolist(), y.tolist()) for X, y in stream), stream.encoder.names(stream.state)[:4], sep="\\n")
    ([[50.0, 0.0, 1.0, 0.0, 0.0, 0.0], [50.0, 1.0, 0.0, 1.0, 0.0, 0.0], [70.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [210.0, 350.0, 330.0])
    ['size', 'size is missing', 'town=Bonn', 'town=Ulm']
    """
    _check(target, block, columns, follow)
    ending = _ending(path, format)
    label = LABELS.get(ending) if target is None else target
    wanted = None if columns is None or label is None else (*columns, label)
    source = open_source(path, ending, wanted, declared(text, dates), label, follow)
    known = list(source.kinds)
    if label is None:
        raise InputError(f"{source.name}: choose the target, one of: {listed(known)}")
    choose(source.name, known, [label])
    names = [name for name in known if name != label] if columns is None else list(columns)
    if not names:
        raise InputError(f"{source.name}: there are no feature columns, only {known[0]!r}; give at least one")
    sample = sampled(source)
    encoder = planned(sample, names, policy(missing))
    return Stream(source, _target(source, label, labels, sample), encoder, int(block), sample)


def open_source(
    path: Any, ending: str, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], label: str | None, follow: float | None = None
) -> Source:
    """What `path` names, as tables of the columns `wanted` (None: all)."""
    if path == STANDARD_INPUT:
        pipe = standard_input()
        return _opener(pipe.name, ending)(pipe, wanted, kinds)
    path = Path(path)
    with reading(path):
        check_file(path)
        if ending == ".npz":
            return open_npz(path, wanted, kinds, label or LABELS[ending])
        return _opener(str(path), ending)(File(path) if follow is None else Growing(path, follow), wanted, kinds)


def _opener(name: str, ending: str) -> Opener:
    if ending not in LINES:
        known = " or ".join([*LINES, ".npz"])
        raise FileError(f"{name}: cannot tell the format from {ending!r}; the name must end in {known}, or say format='.csv'")
    return LINES[ending]


def _ending(path: Any, format: str | None) -> str:
    """The suffix that tells the format, without that of a packer."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must name a file, got {path!r:.200}")
    if format is not None or path == STANDARD_INPUT:
        return f".{(format or 'csv').removeprefix('.')}"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")


def _target(source: Source, name: str, labels: tuple[Label, Label] | None, sample: Any) -> Target:
    if labels is None and source.kinds[name] is not Kind.TEXT:
        return Value(name)
    found = labels or two_labels(sample, name)
    assert found is not None  # of texts there are two, or an error
    return Signs(name, *found)


def _check(target: Any, block: Any, columns: Any, follow: Any) -> None:
    if not isinstance(block, Integral) or isinstance(block, bool) or block < 1:
        raise InputError(f"block must be a whole number of rows, at least 1, got {block!r}")
    if isinstance(columns, str) or (columns is not None and not all(isinstance(name, str) for name in columns)):
        raise InputError(f"columns must be a list of names, got {columns!r}")
    if target is not None and not isinstance(target, str):
        raise InputError(f"target must be a name, got {target!r}")
    if columns is not None and (target in columns or repeated(columns)):
        raise InputError(f"columns must name each feature once and not the target, got {listed(columns)}")
    if follow is not None and not (isinstance(follow, int | float) and follow >= 0.0 and not math.isnan(follow)):
        raise InputError(f"follow must be a number of seconds, or math.inf, got {follow!r}")
