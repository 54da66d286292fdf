"""A stream: the rows of a source as blocks (X, y) for learners. The first rows decide how columns and target are encoded.

stream = onkel.read("prices.csv", target="price")
for X, y in stream: ...                        # float64, at most `block` rows; iterate again to read again
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.data.columns import NoColumn, choose, declare, labels_remark, listed, remarks
from onkel.data.reading import AS_DETECTED, DECLARED, Reading, locate, open_located, open_tables
from onkel.data.table import Kind, Source, Strings, Table, recut, rows_at_once
from onkel.errors import InputError
from onkel.model.encoder import Encoder, Means, Missing, policy
from onkel.model.encodings import State
from onkel.model.plan import Wishes, assumptions, planned, sampled
from onkel.model.target import Classes, Label, Signs, Target, Unlabelled, Value, columns_with_means, two_labels

LARGEST_BLOCK = 1 << 30  # bytes of one block
# rows of a block if the user does not say; None: as many as suit the number of columns. A resumed run must cut in the same places
BLOCK: int | None = None

Block = tuple[Matrix, Vector]
Mask = NDArray[np.bool_]


@dataclass(repr=False)
class Stream:
    """Each iteration reads the source from its start, with an encoder that has seen nothing.

    >>> rows = [{"size": 50.0, "town": "Bonn", "price": 210.0}, {"size": 70.0, "town": "Ulm", "price": 350.0}]
    >>> stream = onkel.read(rows, "price")
    >>> stream.target, [(X.shape, y) for X, y in stream]
    (Value(name='price', columns=None), [((2, 5), array([210., 350.]))])
    """

    source: Source
    target: Target
    encoder: Encoder
    block: int  # the number of rows that are read at a time
    sample: Table  # the first rows, which have decided encodings and target
    remarks: tuple[str, ...] = ()  # on what these look like
    state: State = field(init=False)  # the encoder's state after the rows that were returned so far
    means: Means = field(init=False)  # of its columns
    labels: list[Label] = field(init=False, default_factory=list)  # the labels of the classes, in the order in which they came

    def __post_init__(self) -> None:
        self.state, self.means = self.encoder.init(), Means(self.encoder.width)
        row = 8 * (self.encoder.width + 1)
        if self.block * row > LARGEST_BLOCK:
            raise InputError(
                f"{self.name}: a block of {self.block} rows and {row // 8} columns takes {self.block * row / 1e9:.1f} GB; "
                f"choose block={max(1, LARGEST_BLOCK // row)} or less"
            )

    def __repr__(self) -> str:
        return f"<Stream of {self.name}: {', '.join(self.names)} -> {self.target.name}>"

    @property
    def name(self) -> str:
        """Of the source."""
        return self.source.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that X is made from."""
        return tuple(column.name for column in self.encoder.columns)

    @property
    def rows(self) -> int | None:
        """The number of rows of the source; None if it is not known before reading."""
        return self.source.rows

    def about(self) -> int | None:
        """An estimate of the number of rows, from the size of the file; None if there is no such estimate."""
        return self.source.about

    def notes(self) -> list[str]:
        """What the user should know about the rows so far, one sentence each."""
        return [*self.source.notes(), *self.remarks, *self.encoder.notes(self.state)]

    def __iter__(self) -> Iterator[Block]:
        self.state, self.means, self.labels = self.encoder.init(), Means(self.encoder.width), []
        for table in self.tables():
            yield self._encoded(table)

    def tables(self) -> Iterator[Table]:
        """The rows of the source, in tables of `block` rows."""
        return recut(self.source.tables(), self.block)

    def tables_after(self, skip: int, seen: Callable[[Table], None]) -> Iterator[Table]:
        """The rows after the first `skip` ones, in tables that are cut at the same rows as those of `tables`.

        `seen` is called with all rows, also with those that are skipped, before they are returned. No call mixes skipped rows with
        others.
        """
        start = 0
        for table in self.tables():
            before = min(max(0, skip - start), len(table))
            if before:
                seen(table[:before])
            if before < len(table) or not len(table):
                seen(table[before:])
                yield table[before:]
            start += len(table)

    def _encoded(self, table: Table) -> Block:
        X, codes, _ = encoded(self.encoder, self.state, self.target, self.labels, table)
        # a copy, since the table may belong to the caller
        dense = np.array(X if isinstance(X, np.ndarray) else X.toarray(), order="C")
        spare = dense[:, self.encoder.width - self.encoder.spare :]
        spare[np.isnan(spare)] = 0.0
        X = self.means.fill(dense) if self.encoder.missing is Missing.MEAN or self.encoder.late else dense
        return X, codes if self.target.one_hot else self.target.coded(codes, 1, 0.0)


def encoded(encoder: Encoder, state: State, target: Target, labels: list[Label], table: Table) -> tuple[Matrix, Vector, Mask]:
    """X and the codes of the labels for the rows that can be learnt, and the mask of these rows. `state` and `labels` learn them.

    A row without a label cannot be learnt, nor one with a missing value if such rows are dropped.
    """
    labelled = ~target.missing(table)
    if not labelled.all():
        if encoder.missing is Missing.REFUSE:
            remedy = "fill it, or leave such rows out: missing='drop' or 'mean' (--missing drop)"
            raise InputError(f"{table.place(int(np.argmin(labelled)))}, column {target.name!r}: the label is missing; {remedy}")
        table = table.where(labelled)
        unlabelled = int(np.count_nonzero(~labelled))
        state.dropped, state.unlabelled = state.dropped + unlabelled, state.unlabelled + unlabelled
    X, whole = encoder.learn(state, table)
    rows = table if whole.all() else table.where(whole)
    codes = target.codes(rows, labels)
    if encoder.labels:
        coded = target.coded(codes, encoder.labels, 0.0)
        encoder.learn_labels(state, rows, coded[:, None] if coded.ndim == 1 else coded, X)
    kept = labelled.copy()
    kept[labelled] = whole
    return X, codes, kept


def read(
    path: Any,
    target: Any = None,
    *,
    block: int | None = None,
    missing: Missing | str = Missing.REFUSE,
    labels: tuple[Label, Label] | None = None,
    hashed: Sequence[str] = (),
    cycles: Mapping[str, float] | None = None,
    spare: int = 0,
    reading: Reading = AS_DETECTED,
    **fields: Any,
) -> Stream:
    """Open rows as a stream of blocks (X, y), read once for each iteration.

    path     whatever `open_tables` takes: a file, "-", a name, a table, an array, dicts, a list of files
    target   the column that y comes from; None: that which npz and libsvm files name; for rows in memory also y itself: numbers or
             labels
    block    the number of rows of a block (the last may have fewer); None: 4,096, or fewer if there are many columns
    missing  what is done with a missing value: "refuse" it, fill in the "mean" so far, or "drop" the row. Default: 'refuse'.
    labels   two classes, low and high, which are -1 and 1 in y; None: found automatically if the target has two strings. With
             more strings y is 0, 1, 2 …, the index of the row's label in `stream.labels`, which grows as new labels come
    hashed   columns of strings of which no value gets a column of its own, however few there are in the first rows; each value
             also gets the mean of y so far
    cycles   columns of numbers that begin again, and their periods: {"hour": 24}; None: those whose names and ranges say so
    spare    columns of X reserved for keys of dicts and JSON lines that first appear after 1,000 rows, 0 if absent: one for a
             number, one for each value of a string. Default: 0.
    reading  how the rows are read: a `Reading`
    fields   the fields of the reading one by one: `format`, `header`, `columns`, `without`, `text`, `dates`, `numbers`, `follow`,
             `order`

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flats.csv")
    ...     _ = path.write_text("size,town,price\\n50,Bonn,210\\n,Ulm,350\\n70,Bonn,330\\n")
    ...     stream = read(path, target="price", missing="mean")
    ...     print(*((X.tolist(), y.tolist()) for X, y in stream), stream.encoder.names(stream.state)[:4], sep="\\n")
    ([[50.0, 0.0, 1.0, 0.0, 0.0, 0.0], [50.0, 1.0, 0.0, 1.0, 0.0, 0.0], [70.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [210.0, 350.0, 330.0])
    ['size', 'size is missing', 'town=Bonn', 'town=Ulm']
    """
    reading = dataclasses.replace(reading, **fields) if fields else reading
    return opened(
        path, target, block=block, missing=policy(missing), labels=labels, hashed=hashed, cycles=cycles, spare=spare,
        reading=reading,
    )  # fmt: skip


def opened(
    path: Any, target: Any, decided: Callable[[Target, Table, str], Target] = lambda target, sample, source: target, *,
    block: int | None = None, missing: Missing, labels: tuple[Label, Label] | None, hashed: Sequence[str],
    cycles: Mapping[str, float] | None, spare: int, reading: Reading,
) -> Stream:  # fmt: skip
    """As `read`, but the function `decided` decides what is predicted. Its arguments are the target that the first rows suggest,
    these rows, and the name of their source."""
    if hashed:
        reading = dataclasses.replace(reading, text=(*reading.text, *(hashed := Reading(text=hashed).text)))
    if block is not None and (not isinstance(block, Integral) or isinstance(block, bool) or block < 1):
        raise InputError(f"block must be a whole number of rows, at least 1, got {block!r}")
    found = locate(path, reading, target)
    source = open_located(found, reading, label := found[0].target)
    if label is None:
        raise InputError(f"{source.name}: choose the target, one of: {listed(list(source.known))}")
    separate = found[0].has_labels
    if not separate:
        choose(source.name, list(source.kinds), [label], *source.hints())
    kinds = {name: kind for name, kind in source.kinds.items() if separate or name != label}
    if not kinds:
        raise InputError(f"{source.name}: there are no feature columns, only {label!r}; give at least one")
    _check_whole(source, missing)
    sample = sampled(source)
    grows = reading.columns is None and source.grows
    undecided = set[str]()  # keys without any value yet: the first value that comes decides their kind
    if grows and missing is Missing.MEAN:
        declared = {*reading.kinds(), *(cycles or ())}
        undecided = {name for name in kinds if name not in declared and sample.is_empty(name)}
    kinds = {name: kind for name, kind in kinds.items() if name not in undecided}
    spare = spare or int(not kinds)  # X has at least one column
    ignored = sorted({*source.known, *reading.without}.difference(kinds, undecided)) if spare or grows else ()
    if source.kinds.get(label) in (Kind.TIME, Kind.DURATION) and not separate:
        raise InputError(
            f"{source.name}: the target {label!r} is {source.kinds[label].value}; to predict it, give it as a number of seconds; "
            f"to take its values as classes, {declare(Kind.TEXT, label)}"
        )
    kind = decided(_target(label, labels, sample), sample, source.name)
    if cycles:
        _check_cycles(source, cycles)
    encoder = planned(sample, kinds, missing, Wishes(hashed, cycles), columns_with_means(kind, sample), spare, ignored, grows)
    seen = [
        *assumptions(encoder.columns, sample, label),
        *remarks(sample, reading.text),
        *(labels_remark(sample, label) if label not in reading.text else []),
    ]
    return Stream(_roomy(source, encoder), kind, encoder, _rows_in(block, encoder), sample, tuple(seen))


def _check_cycles(source: Source, cycles: Mapping[str, float]) -> None:
    """Refuse a period for a column that does not exist or does not hold numbers."""
    choose(source.name, list(source.kinds), list(cycles))
    if wrong := [name for name in cycles if source.kinds[name] is not Kind.NUMBER]:
        raise InputError(f"{source.name}: {wrong[0]!r} is {source.kinds[wrong[0]].value}; only a column of numbers has a period")


def read_again(
    path: Any, encoder: Encoder, target: Target | None, *, y: Any = None, block: int | None = None,
    keep: Sequence[str] = (), reading: Reading = AS_DETECTED, **fields: Any,
) -> Stream:  # fmt: skip
    """Open the same or another file, with the columns encoded as they were before. Without a target no y is read.

    For rows in memory, y may be given separately. `keep` names further columns, which are read as strings.
    """
    kinds = {column.name: column.kind for column in encoder.columns}
    label = None if target is None else target.name
    if target is not None and y is None:
        kinds[target.name] = target.kind
    others = [name for name in dict.fromkeys(keep) if name not in kinds]
    kinds |= dict.fromkeys(others, Kind.TEXT)
    declared: dict[str, Any] = {field: [name for name, own in kinds.items() if own is kind] for field, kind in DECLARED.items()}
    columns = [*(column.name for column in encoder.columns), *others]
    reading = dataclasses.replace(dataclasses.replace(reading, **fields), columns=columns, without=(), **declared)
    source = _open_again(path, reading, label if y is None else y, encoder)
    _check_whole(source, encoder.missing)
    source = _roomy(source, encoder)
    return Stream(source, target or Unlabelled(), encoder, _rows_in(block, encoder), sampled(source))


def _open_again(path: Any, reading: Reading, label: Any, encoder: Encoder) -> Source:
    """Open the rows; a column that came late may be absent from them."""
    try:
        return open_tables(path, reading, label)
    except NoColumn as error:
        if error.column not in encoder.late or reading.columns is None:
            raise
        without: dict[str, Any] = {
            field: [name for name in getattr(reading, field) if name != error.column] for field in ("columns", *DECLARED)
        }
        return _open_again(path, dataclasses.replace(reading, **without), label, encoder)


def _rows_in(block: int | None, encoder: Encoder) -> int:
    block = BLOCK if block is None else block
    return rows_at_once(encoder.width + 1) if block is None else int(block)


def _roomy(source: Source, encoder: Encoder) -> Source:
    """Let the source return keys that are new to the encoder, if there are spare columns for them or if the encoder may grow."""
    known = (*(column.name for column in encoder.columns), *encoder.ignored)
    return source.with_room(known) if encoder.spare or encoder.grows else source


def _target(name: str, labels: tuple[Label, Label] | None, sample: Table) -> Target:
    cells = sample.cells(name)
    if labels is None and not isinstance(cells, Strings):
        return Value(name, cells.shape[1] if cells.ndim == 2 else None)
    found = labels or two_labels(sample, name)
    return Classes(name) if found is None else Signs(name, *found)


def _check_whole(source: Source, missing: Missing) -> None:
    """If missing values are refused, refuse a file that lacks a column of another file, before anything is learnt."""
    if missing is Missing.REFUSE and (lacking := source.lacking()):
        raise InputError(f"{lacking[0]}; choose the columns without it, or say what to do: missing='mean' (--missing mean)")
