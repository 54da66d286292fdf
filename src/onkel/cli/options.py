"""Options that commands share; each is written, and explained, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

File = Annotated[str, Parameter(allow_leading_hyphen=True)]  # - is the standard input
Flag = Annotated[bool, Parameter(negative=())]
Task = Literal["auto", "classification", "regression"]
Missing = Literal["refuse", "mean", "drop"]


@Parameter(name="*")
@dataclass(frozen=True)
class Format:
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
        return split(self.names) or not self.no_header


@Parameter(name="*")
@dataclass(frozen=True)
class Columns:
    """What its columns are.

    Parameters
    ----------
    columns
        The inputs, separated by commas; without this all columns but the target.
    without
        Columns that are no inputs, separated by commas.
    text
        Columns that are texts though they look like numbers, separated by commas.
    dates
        Columns of dates (2026-11-16 14:05:00), separated by commas; those that look like dates are found.
    hash
        Texts that go into 64 columns by a hash, separated by commas: for values of which most come later.
    spare
        Columns kept free for keys of JSON lines that first appear after 1,000 rows; they must be numbers.
    """

    columns: str | None = None
    without: str | None = None
    text: str | None = None
    dates: str | None = None
    hash: str | None = None
    spare: int = 0


@Parameter(name="*")
@dataclass(frozen=True)
class Target:
    """What is to be predicted from what.

    Parameters
    ----------
    target
        The column to predict. An npz or libsvm file knows its own.
    task
        Regression predicts a number, classification one of several labels. By default texts are labels, and so are numbers that are
        only 0 and 1 or -1 and 1, or where the learner knows classes alone; the result says how it was taken.
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

    def pair(self) -> tuple[Any, Any] | None:
        """The two labels; where they look like numbers they are numbers."""
        from onkel.errors import InputError

        found = split(self.labels)
        if found is None:
            return None
        if len(found) != 2:
            raise InputError(f"--labels takes two labels, low and high, as in --labels no,yes; got {self.labels!r}")
        try:
            return float(found[0]), float(found[1])
        except ValueError:
            return found[0], found[1]


@Parameter(name="*")
@dataclass(frozen=True)
class Rows:
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
        from onkel.errors import InputError

        for option, least in (("shuffle", 0), ("rows", 1), ("lags", 0)):
            if (said := getattr(self, option)) is not None and said < least:
                raise InputError(f"--{option} must be at least {least}, got {said}")


def split(listed: str | None) -> list[str] | None:
    return None if listed is None else [name.strip() for name in listed.split(",")]


@dataclass(frozen=True)
class Inputs:
    """What the user said about the files."""

    paths: Sequence[str]
    format: Format = Format()
    columns: Columns = Columns()
    target: Target = Target()
    rows: Rows = Rows()
    follow: float | None = None  # seconds without news after which it ends

    @property
    def path(self) -> Any:
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def order(self) -> Any:
        from onkel.data import Order

        return Order(self.rows.shuffle, self.rows.rows)
