"""`read`: a stream of blocks (X, y) from a file, a pipe or a table in memory, in bounded memory, every value checked on the way.

    stream = read("prices.csv", target="price")
    for X, y in stream: ...                        # float64, at most `block` rows; iterate again to read again

The name tells the format; what each may hold is said in its own file. Packed files (gz, xz, bz2, zst) are unpacked on the way.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from onkel.data import libsvm_file
from onkel.data.arrow_table import ArrowSource, open_arrow, open_frame, open_parquet
from onkel.data.beside import name_of
from onkel.data.columns import AllBut, choose, declared, listed, repeated
from onkel.data.csv_file import SEPARATORS, open_csv
from onkel.data.csv_records import Header
from onkel.data.encoder import Encoder, Missing, policy
from onkel.data.input import File, Growing, Input, check_file, reading, standard_input
from onkel.data.jsonl_file import JsonLines, open_jsonl
from onkel.data.libsvm_file import open_libsvm
from onkel.data.looks import labels_remark, remarks
from onkel.data.matrix import Matrix, open_matrix
from onkel.data.named import find
from onkel.data.npz_file import open_npz
from onkel.data.order import Order, ordered
from onkel.data.plan import planned, sampled
from onkel.data.several import Opener, Several, open_several
from onkel.data.stream import Stream
from onkel.data.table import Kind, Source, Table, rows_at_once
from onkel.data.target import Classes, Label, Signs, Target, Unlabelled, Value, is_text, two_labels
from onkel.errors import FileError, InputError

STANDARD_INPUT = "-"
OWN_ORDER = Order()
PACKED = (".gz", ".xz", ".bz2", ".zst")

OfLines = Callable[[Input, Sequence[str] | None, Mapping[str, Kind]], Source]
OfFile = Callable[[Path, Sequence[str] | None, Mapping[str, Kind]], Source]


LINES: dict[str, OfLines] = {  # can come through a pipe, packed, or still be growing
    ".jsonl": open_jsonl, ".ndjson": open_jsonl, ".libsvm": open_libsvm, ".svm": open_libsvm,
}  # fmt: skip
TABLES = {".csv": SEPARATORS, ".data": SEPARATORS, ".tsv": "\t"}  # the same, with a header or without
FILES: dict[str, OfFile] = {
    ".parquet": open_parquet, ".pq": open_parquet, ".arrow": open_arrow, ".feather": open_arrow, ".ipc": open_arrow,
}  # fmt: skip
LABELS = {".npz": "y", ".libsvm": libsvm_file.LABEL, ".svm": libsvm_file.LABEL}  # what formats themselves call the label


def read(
    path: Any,
    target: Any = None,
    block: int | None = None,
    columns: Sequence[Any] | None = None,
    missing: Missing | str = Missing.REFUSE,
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    labels: tuple[Label, Label] | None = None,
    follow: float | None = None,
    format: str | None = None,
    header: Header = True,
    without: Sequence[str] = (),
    hashed: Sequence[str] = (),
    spare: int = 0,
    order: Order = OWN_ORDER,
) -> Stream:
    """Open a file as a stream of blocks of `block` rows (the last may be shorter); None: 4,096, or fewer where rows are wide.

    path     a file, or "-" for the standard input; a name (see `onkel data`); or a table in memory (of pandas, polars,
             pyarrow; an array, a scipy.sparse matrix); or a list of files, one read behind the other
    target   the column that y comes from (npz and libsvm files know theirs); of what is in memory also y itself: numbers or labels
    columns  those that X is made from, in the order wanted; the others are not looked at. `without`: all but these
    missing  what becomes of a missing value: "refuse" it, fill in the "mean" so far, or "drop" the row
    text     columns that are texts though they look like numbers, such as postcodes; `dates`: columns of dates (ISO 8601);
             `hashed`: texts of which no value gets a column of its own, however few there are in the first rows
    labels   two classes, low and high, which y gives as -1 and 1; found by itself where the target has two texts. With more texts
             y is 0, 1, 2 …, the place of the row's own in `stream.state.labels`, which grows as new ones come
    spare    columns of X kept free for keys of JSON lines that first appear behind the first 1,000 rows; numbers, 0 where absent
    follow   go on as the file grows, until it has been still for so many seconds (math.inf: for ever)
    format   what the end of the name would say, such as "csv"
    header   of a csv file: False if it has none (the columns are then c0, c1, c2 …), or a list of names if it has none
    order    Order(seed, rows): all rows in a random order, which holds them in memory, and so many of them

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "flats.csv").write_text("size,town,price\\n50,Bonn,210\\n,Ulm,350\\n70,Bonn,330\\n")
    ...     stream = read(Path(folder, "flats.csv"), target="price", missing="mean")
    ...     print(*((X.tolist(), y.tolist()) for X, y in stream), stream.encoder.names(stream.state)[:4], sep="\\n")
    ([[50.0, 0.0, 1.0, 0.0, 0.0, 0.0], [50.0, 1.0, 0.0, 1.0, 0.0, 0.0], [70.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [210.0, 350.0, 330.0])
    ['size', 'size is missing', 'town=Bonn', 'town=Ulm']
    """
    target = str(target) if isinstance(target, Integral) else target  # a name, as tables of pandas may have them
    columns, without, text, dates, hashed = (_named(given) for given in (columns, without, text, dates, hashed))
    _check(block, columns, follow, header)
    found = [_found(one, target, format) for one in (path if _is_several(path) else [path])]
    label = found[0].label
    if columns is not None and (label in columns or repeated(columns)):
        raise InputError(f"columns must name each feature once and not the target, got {listed(columns)}")
    wanted: Sequence[str] | None = AllBut(without) if without else None
    if columns is not None and label is not None:
        wanted = (*(name for name in columns if name not in without), label)
    source = _opened(found, wanted, declared(text, dates, hashed), label, follow, header)
    known = list(source.kinds)
    if label is None:
        raise InputError(f"{source.name}: choose the target, one of: {listed(known)}")
    choose(source.name, known, [label], *source.notes())
    names = [name for name in known if name != label]
    if not names:
        raise InputError(f"{source.name}: there are no feature columns, only {known[0]!r}; give at least one")
    _check_whole(source, policy(missing))
    sample = sampled(rows := ordered(source, order))
    passed = sorted({*_known(source), *without}.difference(names)) if spare else ()
    encoder = planned(sample, names, policy(missing), hashed, spare, passed)
    if (roomy := _with_room(source, encoder)) is not source:
        rows = ordered(roomy, order)
    seen = [*remarks(sample, (*text, *hashed)), *(labels_remark(sample, label) if label not in text else [])]
    return Stream(rows, _target(source, label, labels, sample), encoder, _rows_in(block, encoder), sample, tuple(seen))


def read_again(
    path: Any,
    encoder: Encoder,
    target: Target | None,
    block: int | None = None,
    follow: float | None = None,
    format: str | None = None,
    header: Header = True,
    order: Order = OWN_ORDER,
) -> Stream:
    """The same columns of the same or of another file, encoded as they were before; without a target there is no y to read."""
    label = None if target is None else target.name
    found = [_found(one, label, format) for one in (path if _is_several(path) else [path])]
    names = [column.name for column in encoder.columns]
    kinds = {column.name: column.kind for column in encoder.columns}
    if target is not None:
        names.append(target.name)
        kinds[target.name] = Kind.TEXT if is_text(target) else Kind.NUMBER
    source = _with_room(_opened(found, names, kinds, label, follow, header), encoder)
    _check_whole(source, encoder.missing)
    source = ordered(source, order)
    return Stream(source, target or Unlabelled(), encoder, _rows_in(block, encoder), sampled(source))


def _rows_in(block: int | None, encoder: Encoder) -> int:
    return rows_at_once(encoder.width + 1) if block is None else int(block)


def _known(source: Source) -> set[str]:
    """Its columns, wanted or not."""
    if isinstance(source, Several):
        return set().union(*map(_known, source.parts))
    return set(source.known if isinstance(source, JsonLines) else source.kinds)


def _with_room(source: Source, encoder: Encoder) -> Source:
    """Let keys through that are new to the encoder, if it has spare columns for them."""
    if encoder.spare and isinstance(source, Several):
        return dataclasses.replace(source, parts=tuple(_with_room(part, encoder) for part in source.parts))
    if encoder.spare and isinstance(source, JsonLines):
        known = frozenset((*(column.name for column in encoder.columns), *encoder.passed))
        return dataclasses.replace(source, known=known, room=True, unused={})
    return source


def look(path: str, columns: Sequence[str] | None, kinds: Mapping[str, Kind], format: str | None, header: Header) -> Source:
    """A file or a name, its target a column like any other."""
    found = _found(path, None, format)
    return _opened([found], columns, kinds, found.label, None, header)


class _Found(NamedTuple):
    """What a path stands for."""

    name: str | None  # of named data
    path: Any
    y: Any  # of an array
    label: str | None  # the column that y comes from, as far as it is known
    ending: str


def _found(path: Any, target: Any, format: str | None) -> _Found:
    name, own = path if is_name(path, format) else None, None
    if name is not None:
        path, own = find(name).open()
    label, ending = _label(path, own if target is None else target, format)
    return _Found(name, path, next((y for y in (target, own) if not isinstance(y, str | None)), None), label, ending)


def _is_several(path: Any) -> bool:
    return isinstance(path, list | tuple) and len(path) > 0 and all(isinstance(one, str | os.PathLike) for one in path)


def _opened(
    found: Sequence[_Found],
    wanted: Sequence[str] | None,
    kinds: Mapping[str, Kind],
    label: str | None,
    follow: float | None,
    header: Header,
) -> Source:
    """Of several files only the last can be followed."""

    def opener(one: _Found) -> Opener:
        waits = follow if one is found[-1] else None
        return lambda names, declared: called(
            one.name, open_source(one.path, one.ending, names, declared, one.y, label, waits, header)
        )

    openers = [opener(one) for one in found]
    return openers[0](wanted, kinds) if len(openers) == 1 else open_several(openers, wanted, kinds, label)


def open_source(
    path: Any,
    ending: str,
    wanted: Sequence[str] | None,
    kinds: Mapping[str, Kind],
    y: Any = None,
    label: str | None = None,
    follow: float | None = None,
    header: Header = True,
) -> Source:
    """What `path` names or is, as tables of the columns `wanted` (None: all). `y` goes with an array, `label` is that of an npz."""
    if hasattr(path, "__arrow_c_stream__"):
        return open_frame(path, y, wanted, kinds)
    if not isinstance(path, str | os.PathLike):
        return open_matrix(path, y, wanted, kinds)
    if path == STANDARD_INPUT:
        return _of_lines(standard_input(), ending, wanted, kinds, header)
    path = Path(path)
    with reading(path):
        check_file(path)
        if ending == ".npz":
            return open_npz(path, wanted, kinds, label or LABELS[ending])
        if ending in FILES:
            return FILES[ending](path, wanted, kinds)
        return _of_lines(File(path) if follow is None else Growing(path, follow), ending, wanted, kinds, header)


def called(name: str | None, source: Source) -> Source:
    """A table in memory that was found by name goes by it."""
    in_memory = isinstance(source, ArrowSource | Matrix)
    return dataclasses.replace(source, name=name) if name is not None and in_memory else source  # type: ignore[type-var]


def is_name(path: Any, format: str | None = None) -> bool:
    """Whether it names data, rather than a file: no such file, no folder in it, no ending."""
    bare = isinstance(path, str) and format is None and path not in ("", STANDARD_INPUT) and Path(path).name == path
    return bare and not Path(path).suffix and not Path(path).exists()


def _of_lines(source: Input, ending: str, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], header: Header) -> Source:
    if ending in TABLES:
        return open_csv(source, wanted, kinds, TABLES[ending], header)
    if ending in LINES:
        return LINES[ending](source, wanted, kinds)
    if ending in (*FILES, ".npz"):
        raise FileError(f"{source.name}: {ending} cannot come through a pipe; save it to a file first")
    known = " ".join([*TABLES, *LINES, *FILES, ".npz"])
    remedy = f"say it, as in format='csv' (--format csv); known are {known}"
    raise FileError(f"{source.name}: cannot tell the format from {ending!r}; {remedy}")


def ending_of(path: Any, format: str | None) -> str:
    """The suffix that tells the format, without that of a packer."""
    if format is not None or path == STANDARD_INPUT:
        return f".{(format or 'csv').removeprefix('.')}"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")


def _label(path: Any, target: Any, format: str | None) -> tuple[str | None, str]:
    """The name of the column that y comes from, as far as it is known, and the format of a file."""
    beside = target is not None and not isinstance(target, str)
    if isinstance(path, str | os.PathLike):
        if beside:
            raise InputError(f"target must be the name of a column of {path}, got {type(target).__name__}; name it, as in 'price'")
        ending = ending_of(path, format)
        return LABELS.get(ending) if target is None else target, ending
    if hasattr(path, "collect"):
        raise InputError(f"a {type(path).__name__} has no rows yet; give table.collect()")
    if hasattr(path, "__arrow_c_stream__"):
        return name_of(target) if beside else target, ""
    if not (hasattr(path, "shape") and hasattr(path, "dtype")):
        raise InputError(f"path must name a file or be a table or an array, got a {type(path).__name__}; convert it: np.array(…)")
    return name_of(target), ""


def _target(source: Source, name: str, labels: tuple[Label, Label] | None, sample: Table) -> Target:
    if labels is None and source.kinds[name] is not Kind.TEXT:
        return Value(name)
    found = labels or two_labels(sample, name)
    return Classes(name) if found is None else Signs(name, *found)


def _named(given: Any) -> Any:
    return [str(one) if isinstance(one, Integral) else one for one in given] if isinstance(given, list | tuple) else given


def _check_whole(source: Source, missing: Missing) -> None:
    """Refuse a file that lacks a column of another before anything is learnt, where missing values are refused."""
    if missing is Missing.REFUSE and isinstance(source, Several) and (lacking := source.lacking()):
        raise InputError(f"{lacking[0]}; choose the columns without it, or say what to do: missing='mean' (--missing mean)")


def _check(block: Any, columns: Any, follow: Any, header: Any) -> None:
    if block is not None and (not isinstance(block, Integral) or isinstance(block, bool) or block < 1):
        raise InputError(f"block must be a whole number of rows, at least 1, got {block!r}")
    for name, value in {"columns": columns, "header": None if isinstance(header, bool) else header}.items():
        if isinstance(value, str) or (value is not None and not all(isinstance(one, str) for one in value)):
            raise InputError(f"{name} must be a list of names, got {value!r}")
    if follow is not None and not (isinstance(follow, int | float) and follow >= 0.0 and not math.isnan(follow)):
        raise InputError(f"follow must be a number of seconds, or math.inf, got {follow!r}")
