"""Options that several commands share; each is defined and explained once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from onkel.errors import FileError, InputError

File = Annotated[str, Parameter(allow_leading_hyphen=True)]  # - is the standard input
Flag = Annotated[bool, Parameter(negative=())]
Task = Literal["auto", "classification", "regression"]
Missing = Literal["refuse", "mean", "drop"]

LAGS = 3  # of Auto, by default


def _check_is_data(word: str) -> None:
    """Refuse a word that is neither a file nor the name of a data set, but may be meant as the target."""
    if word == "-" or Path(word).suffix or Path(word).exists():
        return
    from onkel.data.named import find

    try:
        find(word)
    except FileError as error:
        raise InputError(f"{error}; if {word} is the column to predict: --target {quote(word)}") from None


@Parameter(name="*")
@dataclass(frozen=True)
class FormatOptions:
    """How a file is written.

    Parameters
    ----------
    format
        The format, such as csv, if the file's extension does not tell it.
    no_header
        The csv file has no header line; its columns are named c0, c1, c2 …
    names
        The csv file has no header line; its columns have these names, separated by commas.
    sheet
        The sheet of a workbook, if not the first.
    """

    format: str | None = None
    no_header: Flag = False
    names: str | None = None
    sheet: str | None = None

    @property
    def header(self) -> bool | list[str]:
        return list(split(self.names)) or not self.no_header


@Parameter(name="*")
@dataclass(frozen=True)
class ColumnOptions:
    """How the columns of a file are used.

    Parameters
    ----------
    columns
        The inputs, separated by commas. Default: all columns but the target.
    without
        Columns that are not used as inputs, separated by commas.
    text
        Columns to read as strings although they look like numbers, separated by commas.
    dates
        Columns of dates (2026-11-16 14:05:00), separated by commas. Columns that look like dates are detected without this option.
    hash
        Columns of strings to hash, separated by commas: useful if most of the values appear only later. The mean of the target so
        far for each value becomes an input, too.
    cycles
        Columns of numbers that begin again after a period, as in hour=24,angle=360. Default: those whose names and values say so,
        such as hour, weekday and month. --cycles none: no column.
    spare
        Number of columns to reserve for keys of JSON lines that first appear after 1,000 rows: one for a number, one for each
        value of a string.
    """

    columns: str | None = None
    without: str | None = None
    text: str | None = None
    dates: str | None = None
    hash: str | None = None
    cycles: str | None = None
    spare: int = 0

    @property
    def periods(self) -> dict[str, float] | None:
        """The period of each column that --cycles names; None without --cycles: then names and values of columns decide."""
        if self.cycles is None:
            return None
        pairs = [name.rpartition("=") for name in split(self.cycles) if name != "none"]
        try:
            return {name: float(period) for name, _, period in pairs}
        except ValueError:
            raise InputError(f"--cycles takes columns and their periods, as in --cycles hour=24; got {self.cycles!r}") from None

    def named(self) -> dict[str, Any]:
        """The columns of each kind, as a `Model` and a `Reading` take them."""
        groups = {"without": self.without, "text": self.text, "dates": self.dates}
        return {"columns": split(self.columns) or None, **{group: split(names) for group, names in groups.items()}}


@Parameter(name="*")
@dataclass(frozen=True)
class TargetOptions:
    """What is predicted, and how target and inputs are prepared.

    Parameters
    ----------
    target
        The column to predict. Not needed for npz and libsvm files, whose label is y.
    task
        Regression predicts a number, classification one of several labels. By default strings are labels. So are numbers if all of
        them are 0 or 1, or all are -1 or 1, or if the learner knows only classes. The result names the task.
    labels
        The only two labels that there are, separated by a comma, as in no,yes. Without this option a third label may come at any
        time, so a learner of two classes, such as Perceptron, is kept once for each label, and takes twice the time.
    missing
        How to treat a missing value: fill in the mean of its column so far and mark it in an additional column (mean, the
        default), drop its row (drop), or stop with an error that says where it is (refuse). A note counts them. A row whose label
        is missing is never learnt: it is dropped, or refused.
    raw
        Give the learner inputs and target as they are. By default inputs are standardised by mean and deviation of the rows so
        far, and a numeric target by those of its first 256 rows. For Auto nothing is standardised either way: it takes numbers of
        any size.
    """

    target: str | None = None
    task: Task = "auto"
    labels: str | None = None
    missing: Missing | None = None  # None means mean
    raw: Flag = False

    @property
    def asked_task(self) -> str | None:
        return None if self.task == "auto" else self.task

    def pair(self) -> tuple[Any, Any] | None:
        """The two labels, as numbers if both look like numbers."""
        if self.labels is None:
            return None
        if len(found := split(self.labels)) != 2:
            raise InputError(f"--labels takes two labels, low and high, as in --labels no,yes; got {self.labels!r}")
        try:
            return float(found[0]), float(found[1])
        except ValueError:
            return found[0], found[1]


@Parameter(name="*")
@dataclass(frozen=True)
class RowOptions:
    """Which rows, in which order, and how many earlier labels are inputs.

    Parameters
    ----------
    shuffle
        Learn all rows in a random order with this seed; the file is then held in memory.
    rows
        Learn only this many rows, the first in that order.
    lags
        How many of the last labels are inputs of the next row. Default: 3 for Auto if the rows are not shuffled, else 0.
    """

    shuffle: int | None = None
    rows: int | None = None
    lags: int | None = None

    def __post_init__(self) -> None:
        for option, least in (("shuffle", 0), ("rows", 1), ("lags", 0)):
            if (said := getattr(self, option)) is not None and said < least:
                raise InputError(f"--{option} must be at least {least}, got {said}")

    @property
    def order(self) -> Any:
        """None: all rows, in the order of the file."""
        from onkel.data import Order

        return None if self.shuffle is None and self.rows is None else Order(self.shuffle, self.rows)


def split(listed: str | None) -> tuple[str, ...]:
    """Names separated by commas; none for None."""
    return () if listed is None else tuple(name.strip() for name in listed.split(","))


def read_learner(text: str | None) -> Any:
    """The learner that the user typed; None means the default."""
    from onkel.combine.assembly import DEFAULT
    from onkel.persist import parse
    from onkel.protocol import is_learner

    learner = DEFAULT if text is None else parse(text)
    if not is_learner(learner):
        raise InputError(f"{learner!r} is not a learner; {_learner_with(learner)}")
    return learner


def _learner_with(part: Any) -> str:
    """The remedy in the error if the user names a part of a learner, such as a kernel, instead of a learner."""
    from onkel.features import Features
    from onkel.kernels import Kernel

    if isinstance(part, Features):
        return f"name one that has it, such as PKAWV(features={part!r})"
    if isinstance(part, Kernel):
        return f"name one that has it, such as PKAWVNystroem(kernel={part!r})"
    return "see: onkel learners"


@dataclass(frozen=True)
class Inputs:
    """The files, and the options that concern them."""

    paths: Sequence[str]
    format: FormatOptions = FormatOptions()
    columns: ColumnOptions = ColumnOptions()
    target: TargetOptions = TargetOptions()
    rows: RowOptions = RowOptions()
    follow: float | None = None  # seconds without new data after which a followed file ends; None: do not follow

    def __post_init__(self) -> None:
        if self.target.target is None:
            for word in self.paths[1:]:
                _check_is_data(word)

    @property
    def path(self) -> Any:
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def reading(self) -> Any:
        """How the files are read. Which columns are used is decided by the model."""
        from onkel.data.reading import Reading

        return Reading(
            format=self.format.format,
            header=self.format.header,
            sheet=self.format.sheet,
            follow=self.follow,
            order=self.rows.order,
        )

    def model(self, learner: Any) -> Any:
        """The model that these options describe, around a learner."""
        from onkel.model import Missing, Model

        target, periods = self.target, self.columns.periods
        return Model(
            target=target.target,
            learner=learner,
            task=target.asked_task,
            labels=target.pair(),
            lags=self._lags(learner),
            standardize=not target.raw,
            scale_target=not target.raw,
            missing=Missing(target.missing or Missing.MEAN),
            hashed=split(self.columns.hash),
            cycles=None if periods is None else tuple(periods.items()),
            spare=self.columns.spare,
            **self.columns.named(),
        )

    def _lags(self, learner: Any) -> int:
        """The number given by the user, else that of Auto (or LAGS) if the rows are not shuffled, else 0."""
        from onkel.combine import Auto

        if self.rows.lags is not None:
            return self.rows.lags
        return (learner.lags or LAGS) if isinstance(learner, Auto) and self.rows.shuffle is None else 0
