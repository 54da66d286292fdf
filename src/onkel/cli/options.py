"""Options that commands share; each is written, and explained, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from onkel.errors import InputError

File = Annotated[str, Parameter(allow_leading_hyphen=True)]  # - is the standard input
Flag = Annotated[bool, Parameter(negative=())]
Task = Literal["auto", "classification", "regression"]
Missing = Literal["refuse", "mean", "drop"]

LAGS = 3  # of Auto, where nobody says another number


@Parameter(name="*")
@dataclass(frozen=True)
class FormatOptions:
    """How a file is written.

    Parameters
    ----------
    format
        What the end of the name would say, such as csv.
    no_header
        A csv file begins with its first row; the columns are then c0, c1, c2 …
    names
        The same, but the columns have these names, separated by commas.
    """

    format: str | None = None
    no_header: Flag = False
    names: str | None = None

    @property
    def header(self) -> bool | list[str]:
        return list(split(self.names)) or not self.no_header


@Parameter(name="*")
@dataclass(frozen=True)
class ColumnOptions:
    """What its columns are.

    Parameters
    ----------
    columns
        The inputs, separated by commas; without this all columns but the target.
    without
        Columns that are no inputs, separated by commas.
    text
        Columns that are strings though they look like numbers, separated by commas.
    dates
        Columns of dates (2026-11-16 14:05:00), separated by commas; those that look like dates are found.
    hash
        Strings that go into 64 columns by a hash, separated by commas: for values of which most come later.
    spare
        Columns kept free for keys of JSON lines that first appear after 1,000 rows; they must be numbers.
    """

    columns: str | None = None
    without: str | None = None
    text: str | None = None
    dates: str | None = None
    hash: str | None = None
    spare: int = 0

    def named(self) -> dict[str, Any]:
        """The columns of each kind, as a `Model` and a `Reading` take them."""
        groups = {"without": self.without, "text": self.text, "dates": self.dates}
        return {"columns": split(self.columns) or None, **{group: split(names) for group, names in groups.items()}}


@Parameter(name="*")
@dataclass(frozen=True)
class TargetOptions:
    """What is to be predicted from what.

    Parameters
    ----------
    target
        The column to predict. An npz or libsvm file knows its own.
    task
        Regression predicts a number, classification one of several labels. By default strings are labels, and so are numbers that
        are only 0 and 1 or -1 and 1, or where the learner knows classes alone; the result says how it was taken.
    labels
        Two labels, low and high, separated by a comma, and no others: learners of two classes then cost half.
    missing
        What becomes of a missing value: an error (refuse, the default), the mean of its column so far (and a column that says so),
        or its row is dropped.
    raw
        Give the learner inputs and target as they are. Without this the inputs are standardised first, by the rows so far, and a
        number to predict by its first 256; not for Auto, which takes numbers of any size either way.
    """

    target: str | None = None
    task: Task = "auto"
    labels: str | None = None
    missing: Missing | None = None  # refuse, where nothing was said
    raw: Flag = False

    @property
    def asked_task(self) -> str | None:
        return None if self.task == "auto" else self.task

    def pair(self) -> tuple[Any, Any] | None:
        """The two labels; where they look like numbers they are numbers."""
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
    """Which rows, in which order, and what is known of those before.

    Parameters
    ----------
    shuffle
        Learn all rows in a random order with this seed; the file is then held in memory.
    rows
        Learn so many rows, the first in that order.
    lags
        How many of the last labels are inputs of the next row. Without this option: 3 for Auto, where the rows come in their own
        order; 0 for other learners.
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
        """None: all rows, in their own."""
        from onkel.data import Order

        return None if self.shuffle is None and self.rows is None else Order(self.shuffle, self.rows)


def split(listed: str | None) -> tuple[str, ...]:
    """Names between commas; none where nothing was said."""
    return () if listed is None else tuple(name.strip() for name in listed.split(","))


def read_learner(text: str | None) -> Any:
    """A learner from what a person typed."""
    from onkel.combine.assembly import DEFAULT
    from onkel.persist import parse
    from onkel.protocol import is_learner

    learner = DEFAULT if text is None else parse(text)
    if not is_learner(learner):
        raise InputError(f"{learner!r} is not a learner; name one, such as PKAWV(features={learner!r})")
    return learner


@dataclass(frozen=True)
class Inputs:
    """What the user said about the files."""

    paths: Sequence[str]
    format: FormatOptions = FormatOptions()
    columns: ColumnOptions = ColumnOptions()
    target: TargetOptions = TargetOptions()
    rows: RowOptions = RowOptions()
    follow: float | None = None  # seconds without news after which it ends

    @property
    def path(self) -> Any:
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def reading(self) -> Any:
        """How the files are read; which columns, a model says."""
        from onkel.data.reading import Reading

        return Reading(format=self.format.format, header=self.format.header, follow=self.follow, order=self.rows.order)

    def model(self, learner: Any) -> Any:
        """The model that these options describe, around a learner."""
        from onkel.model import Missing, Model

        target = self.target
        return Model(
            target=target.target,
            learner=learner,
            task=target.asked_task,
            labels=target.pair(),
            lags=self._lags(learner),
            standardize=not target.raw,
            scale_target=not target.raw,
            missing=Missing(target.missing or Missing.REFUSE),
            hashed=split(self.columns.hash),
            spare=self.columns.spare,
            **self.columns.named(),
        )

    def _lags(self, learner: Any) -> int:
        """As the user says, or a few for Auto where rows come in their own order."""
        from onkel.combine import Auto

        if self.rows.lags is not None:
            return self.rows.lags
        return (learner.lags or LAGS) if isinstance(learner, Auto) and self.rows.shuffle is None else 0
