"""The columns of a table: which are wanted, whether their cells are numbers, dates or text, and what the user should be told of
cells that are not what they look like."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

from onkel.data import clock, dates
from onkel.data.table import Kind, Table
from onkel.errors import InputError, did_you_mean

SAMPLE_ROWS = 1000  # the first rows, which decide the kinds of the columns and their encodings
SAMPLE_CELLS, LEAST_SAMPLE = 1 << 21, 20  # with many columns the sample is shorter: at most this many cells, but at least 20 rows
# cells that mean a missing number or date; a missing string is only the first of them, the empty cell
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "nil", ".", "-", "--")
NAMES_SHOWN = 20
# a column that contains numbers is text if at least RARELY of its cells are words, SEVERAL_WORDS of them different
SEVERAL_WORDS, RARELY = 3, 0.05
_OF_PANDAS = re.compile(r"Unnamed: \d+")
TWO_WORDS, MOSTLY = 2, 0.5  # or if at least MOSTLY are words, TWO_WORDS different: 4, f and r in a column of car drives

DECLARED = {Kind.TEXT: "text", Kind.DATE: "dates", Kind.TIME: "times of day", Kind.DURATION: "durations"}

MANY_LABELS = 32  # labels are hardly classes if there are more different ones than this, and than half of the first rows

_THOUSANDS = re.compile(r"[+-]?\d{1,3}((,\d{3})+(\.\d*)?|(\.\d{3})+,\d*|(\.\d{3}){2,}|([ '\u00a0\u202f]\d{3})+([.,]\d*)?)")
_WITH_SIGN = re.compile(r"(?=.*[$€£¥%])[$€£¥]?\s*[+-]?\d[\d.,]*\s*[$€£¥%]?")
_COMMA_OF_EITHER_USE = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_UNCERTAIN_DATE = re.compile(
    rf"(\d\d?[./-]\d\d?[./-](\d\d)?\d\d|\d\d?[ -]{dates.MONTH}[ -]\d\d)([ T,]+\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[ap]m)?)?", re.IGNORECASE
)


def declare(kind: Kind, name: str) -> str:
    """How a column is declared as text or as dates, in Python and on the command line."""
    word = DECLARED[kind]
    return f"declare the column as {word} ({word}=[{name!r}], or --{word} {quote(name)})"


def leave_out(*names: str) -> str:
    """How columns are left out, in Python and on the command line."""
    return f"without={list(names)!r}, or --without {quote(','.join(names))}"


class AllBut(tuple[str, ...]):
    """Every column is wanted except these."""


class NoColumn(InputError):
    """A column was asked for that the source does not have."""

    def __init__(self, source: str, column: str, known: Sequence[str], *hints: str) -> None:
        super().__init__(unknown(source, "column", column, known) + _in_brackets(hints))
        self.source, self.column, self.known, self.hints = source, column, known, _in_brackets(hints)


def choose(source: str, known: Sequence[str], wanted: Sequence[str] | None, *hints: str) -> tuple[str, ...]:
    """The names of the wanted columns (None: all of them). The hints are added to an error about a name."""
    if twice := repeated(known):
        raise InputError(f"{source}: two columns are named {twice!r}; rename one{_in_brackets(hints)}")
    there = set(known)
    if absent := [name for name in wanted or () if name not in there]:
        raise NoColumn(source, absent[0], known, *hints)
    left_out = set(wanted or ())
    names = tuple(name for name in known if name not in left_out) if isinstance(wanted, AllBut | None) else tuple(wanted)
    if "" in names:
        raise InputError(f"{source}: column {known.index('') + 1} has no name; name it, or leave it out")
    return names


def with_names(header: Sequence[str]) -> list[str]:
    """The header, with names for the columns that have none."""
    return [name if name.strip() else f"column {place}" for place, name in enumerate(header, 1)]


def without_names(header: Sequence[str]) -> list[int]:
    """The places of fields of the header that are no names: they are blank, or pandas wrote them in place of a blank."""
    return [j for j, field in enumerate(header) if not field.strip() or _OF_PANDAS.fullmatch(field) is not None]


def without_row_numbers(
    names: Sequence[str], wanted: Sequence[str] | None, unnamed: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """The wanted columns without those that only count the rows, as pandas and R write them; and what to say of unnamed columns.

    unnamed   the first cells of each column that has no name of its own (`without_names`)
    """
    asked = () if isinstance(wanted, AllBut | None) else wanted
    counts = [name for name in names if name in unnamed and name not in asked and _count(unnamed[name])]
    said = [f"{name!r}, which has no name, only counts the rows and was left out" for name in counts]
    others = [name for name in names if name in unnamed and name not in counts]
    said += [f"a column has no name and is called {name!r}" for name in others]
    return [name for name in names if name not in counts], said


def _count(cells: Sequence[str]) -> bool:
    """Whether each cell is the whole number after the one before."""
    if len(cells) < 2 or not all(cell.strip().isdecimal() for cell in cells):
        return False
    return all(int(after) == int(before) + 1 for before, after in itertools.pairwise(cells))


def sample_rows(columns: int) -> int:
    """How many rows a sample has."""
    return min(SAMPLE_ROWS, max(LEAST_SAMPLE, SAMPLE_CELLS // max(1, columns)))


def _in_brackets(hints: Sequence[str]) -> str:
    return "".join(f" ({hint})" for hint in hints)


def repeated(names: Sequence[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def unknown(source: str, what: str, name: str, known: Sequence[str]) -> str:
    return f"{source} has no {what} {name!r}; {did_you_mean(name, known)}choose one of: {listed(known)}"


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(map(repr, names[:NAMES_SHOWN])) or "(none)") + more


def shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


class Recognised(NamedTuple):
    """What the first rows of a csv file say about its columns."""

    kinds: dict[str, Kind]
    mark: str  # the decimal mark of numbers
    remarks: list[str]


def recognised(name: str, separator: str, columns: Mapping[str, Sequence[str]], declared: Mapping[str, Kind]) -> Recognised:
    """What these columns are, by their first cells, except for those whose kinds are declared."""
    numeric = {column: cells for column, cells in columns.items() if declared.get(column, Kind.NUMBER) is Kind.NUMBER}
    mark, remark = decimal_mark(name, separator, numeric)
    guessed = {column: kinds_in(cells, mark) for column, cells in columns.items() if column not in declared}
    said = [remark] if remark else []
    said += [mixed(column) for column, (_, is_mixed) in guessed.items() if is_mixed]
    numbers = [column for column, (kind, _) in guessed.items() if kind is Kind.NUMBER]
    said += [note for column in numbers for note in codes_remark(column, columns[column])]
    kinds = {column: declared[column] if column in declared else guessed[column][0] for column in columns}
    return Recognised(kinds, mark, said)


def kinds_in(cells: Iterable[str], mark: str = ".") -> tuple[Kind, bool]:
    """The kind of a column: number if any cell is a number, else date if any cell is a date, else text. It is a column of times of
    day, or of durations, only if all cells are.

    A few typing errors do not turn a column of numbers into text. But if several different words appear in more than a few cells,
    or two different words in most cells, the column is text that contains numbers, such as ticket numbers; only then is the second
    value True.
    """
    found = [(cell, _kind(cell, mark)) for cell in cells if cell.strip() not in MISSING]
    kinds = {kind for _, kind in found}
    if Kind.TEXT in kinds and len(kinds) > 1:
        words = [cell for cell, kind in found if kind is Kind.TEXT and any(map(str.isalpha, cell)) and math.isnan(number(cell))]
        limits = (SEVERAL_WORDS, RARELY), (TWO_WORDS, MOSTLY)
        if any(len(set(words)) >= several and len(words) >= share * len(found) for several, share in limits):
            return Kind.TEXT, True
    if kinds == {Kind.TEXT} and all(dates.is_month(cell) for cell, _ in found):
        return Kind.DATE, False
    return strongest(kinds), False


def mixed(name: str) -> str:
    """The remark on a column of text that contains numbers (see `kinds_in`)."""
    return f"{name!r} contains numbers and words and was taken as text"


def strongest(kinds: Collection[Kind]) -> Kind:
    """The kind of a column, given the kinds of its cells."""
    return next((kind for kind in (Kind.NUMBER, Kind.DATE, Kind.TEXT, Kind.DURATION, Kind.TIME) if kind in kinds), Kind.NUMBER)


def _kind(cell: str, mark: str) -> Kind:
    if math.isfinite(number(cell, mark)):
        return Kind.NUMBER
    return Kind.DATE if dates.is_date(cell) else clock.kind_of_cell(cell) or Kind.TEXT


def number(cell: str, mark: str = ".") -> float:
    """The cell's value, NaN if it is not a number; `mark` is the decimal mark."""
    if mark != ".":
        cell = cell.replace(".", "_").replace(mark, ".")
    if not cell.isascii() or "_" in cell:  # float() would accept 1_000 and digits of every script; pyarrow does not
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def numbers_or_blanks(cells: Iterable[str]) -> list[str]:
    """The cells that are blank, or numbers with a decimal point or comma."""
    return [cell for cell in cells if not cell.strip() or any(math.isfinite(number(cell, mark)) for mark in ".,")]


def check_declared(source: str, kinds: Mapping[str, Kind], known: Sequence[str]) -> None:
    there = set(known)
    if absent := [name for name in kinds if name not in there]:
        raise NoColumn(source, absent[0], known)


def numbers_only(source: str, kinds: Mapping[str, Kind]) -> None:
    """Refuse columns that were declared as text, dates or times, for a format that holds only numbers."""
    if other := [name for name, kind in kinds.items() if kind is not Kind.NUMBER]:
        raise InputError(f"{source} holds numbers only, but {other[0]!r} was declared as {DECLARED[kinds[other[0]]]}")


def in_thousands(cell: str) -> bool:
    """Whether the cell is a number with marks between its thousands: 1,000.5 or 1.000,5 or 1 000."""
    return _THOUSANDS.fullmatch(cell.strip()) is not None


def decimal_mark(name: str, separator: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The decimal mark of a csv file, a point or a comma, and a remark if it is a comma.

    It is a comma if commas do not separate the cells, and some column consists of numbers once commas are read as decimal marks.
    In a file with tabs or bars, cells such as 1,234 are not enough for this: the comma may mark thousands.
    """
    if separator == ",":
        return ".", ""
    found = {mark: _written_with(mark, columns) for mark in ".,"}
    commas = found[","]
    if not commas or (
        separator != ";" and all(_COMMA_OF_EITHER_USE.fullmatch(cell) for cells in commas.values() for cell in cells)
    ):
        return ".", ""
    column, cell = next((column, cells[0]) for column, cells in commas.items())
    for other, cells in found["."].items():
        raise InputError(
            f"{name}: {shown(cell)} of column {column!r} has a decimal comma and {shown(cells[0])} of column {other!r} a point; "
            f"write them alike, leave a column out ({leave_out(other)}), or {declare(Kind.TEXT, other)}"
        )
    return ",", f"numbers have decimal commas: {cell.strip()!r} of {column!r} was taken as {number(cell, ',')}"


def _written_with(mark: str, columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The columns that are numbers with this decimal mark, and the cells in which it appears."""
    found = {}
    for column, cells in columns.items():
        there = [cell for cell in cells if cell.strip() not in MISSING]
        marked = [cell for cell in there if mark in cell]
        if marked and all(math.isfinite(number(cell, mark)) for cell in there):
            found[column] = marked
    return found


def remedy(name: str, kind: Kind, cell: str) -> str:
    """What to do about a cell that is not of the kind of its column."""
    ways = ["correct it or drop the line", f"leave the column out, if it is an input ({leave_out(name)})"]
    if kind is Kind.NUMBER and in_thousands(cell):
        ways[0] = "write it without marks between the thousands"
    if kind is Kind.DATE and not dates.is_date(cell):
        ways[0] = f"write it as {dates.FORMS}"
    if kind in clock.FORMS:
        ways[0] = f"write it as {clock.FORMS[kind]}"
    if kind is Kind.NUMBER and dates.is_date(cell):
        ways.append(declare(Kind.DATE, name))
    return f"{', '.join(ways)}, or {declare(Kind.TEXT, name)}"


def codes_remark(name: str, cells: Sequence[str]) -> list[str]:
    """A remark on a column of whole numbers with leading zeros, which may be codes."""
    there = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    led = [cell for cell in there if len(cell) > 1 and cell.startswith("0")]
    if not led or not all(cell.isdecimal() for cell in there):
        return []
    return [
        f"{name!r} was taken as numbers, so that {led[0]!r} is {int(led[0])}; if it is a code: "
        f"text={[name]!r}, or --text {quote(name)}"
    ]


def remarks(sample: Table, but: Collection[str] = ()) -> list[str]:
    """Remarks on columns of strings that look like numbers or dates, except for the columns in `but`."""
    found = []
    for name in sample.strings:
        cells = [] if name in but else cells_of(sample, name)
        if cells and _nearly_all(_WITH_SIGN.fullmatch, cells):
            found.append(f"{name!r} was taken as text: {shown(cells[0])} is a number with a sign beside it; write the number alone")
        if cells and _nearly_all(in_thousands, cells):
            found.append(
                f"{name!r} was taken as text: {shown(cells[0])} has marks between its thousands; write numbers without them"
            )
        if cells and _nearly_all(_UNCERTAIN_DATE.fullmatch, cells):
            unclear = "looks like a date, but which part is the day, or which century it is, is not certain"
            found.append(f"{name!r} was taken as text: {shown(cells[0])} {unclear}; write dates like 2026-11-16 or 16 Nov 2026")
    return found


def labels_remark(sample: Table, target: str) -> list[str]:
    """A remark on a target with so many different labels that they are hardly classes."""
    cells = cells_of(sample, target) if target in sample.strings else []
    different = len(set(cells))
    if different <= max(MANY_LABELS, len(cells) // 2):
        return []
    return [
        f"the target {target!r} was taken as labels, {different:,} different ones in the first {len(cells):,} rows, because "
        f"{shown(cells[0])} is not a number; to predict a number, write it like 1234.5"
    ]


def cells_of(sample: Table, name: str) -> list[str]:
    """The strings of a column, without the missing ones."""
    column = sample.strings[name]
    return [column.values[code] for code in column.codes if code >= 0]


def _nearly_all(fits: Callable[[str], Any], cells: Sequence[str]) -> bool:
    return sum(1 for cell in cells if fits(cell)) >= (1.0 - RARELY) * len(cells)
