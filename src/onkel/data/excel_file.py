"""Tables from one sheet of a workbook: Excel (xlsx, xlsm, xlsb, xls) and OpenDocument (ods).

The first row that is not blank names the columns; blank rows are skipped. A cell has a type of its own: a number, a string, a date,
a time, a truth value (1 or 0). Where a column mixes numbers and strings it is read as in a csv file: a number that is stored as
text is a number, and several different words make the column text. Errors such as #DIV/0!, and formulas that no program has
computed yet, are blank. The sheet is held in memory.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from onkel._extras import extra
from onkel.data.columns import (
    MISSING,
    check_declared,
    choose,
    kinds_in,
    listed,
    mixed,
    number,
    sample_rows,
    with_names,
    without_names,
    without_row_numbers,
)
from onkel.data.csv_records import Header, doubt
from onkel.data.records import Records, kind_of
from onkel.data.table import ROWS_AT_ONCE, Kind, Place, Source, Table
from onkel.errors import FileError, InputError, did_you_mean


class _Row(NamedTuple):
    number: int  # the row's number in the spreadsheet, counted from 1
    cells: list[Any]  # None for a blank one


@dataclass(frozen=True, kw_only=True)
class SheetSource(Source):
    known: Sequence[str]
    cells: Sequence[_Row]
    records: Records
    remarks: tuple[str, ...] = ()  # what the user should know about how the sheet was read

    def notes(self) -> list[str]:
        return [*self.remarks, *self.records.notes()]

    def tables(self, sample: bool = False) -> Generator[Table]:
        for start in range(0, len(self.cells), ROWS_AT_ONCE):
            part = self.cells[start : start + ROWS_AT_ONCE]
            yield from self.records.tables([self._row(row.cells) for row in part], self._place(part))

    def _row(self, cells: Sequence[Any]) -> dict[str, Any]:
        row = dict(zip(self.known, cells, strict=True))
        return {name: _read(row[name], kind) for name, kind in self.kinds.items()}

    def _place(self, rows: Sequence[_Row]) -> Place:
        return lambda row: f"{self.name}, row {rows[row].number}"


def open_sheet(
    path: Path, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], named: Header, sheet: str | None
) -> SheetSource:
    """Open one sheet of a workbook, by default its first. The first rows decide the kinds of the columns that are not declared."""
    file = str(path)
    rows, on_sheets = _rows_of(path, sheet)
    fields, rows = _with_header(file, rows, named)
    if not rows:
        raise FileError(f"{file}: the sheet has a header but no rows; choose another (--sheet NAME), or write the data again")
    doubts, known = doubt(fields) if named is True else [], with_names(fields)
    sample = {name: [row.cells[j] for row in rows[: sample_rows(len(known))]] for j, name in enumerate(known)}
    nameless = [known[j] for j in without_names(fields)]
    unnamed = {name: ["" if cell is None else _as_text(cell) for cell in sample[name]] for name in nameless}
    names, on_names = without_row_numbers(choose(file, known, wanted, *doubts), wanted, unnamed)
    check_declared(file, kinds, known)
    guessed = {name: _kind(sample[name]) for name in names if name not in kinds}
    chosen = {name: kinds[name] if name in kinds else guessed[name][0] for name in names}
    on_kinds = [mixed(name) for name, (_, is_mixed) in guessed.items() if is_mixed]
    return SheetSource(
        name=file,
        kinds=chosen,
        known=known,
        rows=len(rows),
        cells=rows,
        records=Records(chosen, known, room=False),
        remarks=(*on_sheets, *doubts, *on_names, *on_kinds),
    )


def _rows_of(path: Path, sheet: str | None) -> tuple[list[_Row], list[str]]:
    """The rows and columns of a sheet that are not blank, and what to say of the other sheets."""
    with extra("excel", "reading a workbook"):
        import python_calamine as calamine

    with _opened(path), calamine.load_workbook(str(path)) as book:
        known = book.sheet_names
        if sheet is not None and sheet not in known:
            raise InputError(f"{path} has no sheet {sheet!r}; {did_you_mean(sheet, known)}choose one of: {listed(known)}")
        visible = [one.name for one in book.sheets_metadata if one.visible == calamine.SheetVisibleEnum.Visible]
        own = sheet or next(iter(visible), known[0])
        found = book.get_sheet_by_name(own).to_python(skip_empty_area=False)
    rows = [_Row(k, list(map(_tidy, cells))) for k, cells in enumerate(found, 1) if any(cell != "" for cell in cells)]
    if not rows:
        raise FileError(f"{path}: the sheet {own!r} is empty; choose another (--sheet NAME), or write the data again")
    used = [j for j in range(len(rows[0].cells)) if any(row.cells[j] is not None for row in rows)]
    others = [name for name in visible if name != own]
    said = [f"the sheet {own!r} was read; --sheet NAME reads another: {listed(others)}"] if others and sheet is None else []
    return [_Row(row.number, [row.cells[j] for j in used]) for row in rows], said


def _with_header(name: str, rows: list[_Row], named: Header) -> tuple[list[str], list[_Row]]:
    """The names of the columns, and the rows below them."""
    width = len(rows[0].cells)
    if named is True:
        return ["" if cell is None else _as_text(cell).strip() for cell in rows[0].cells], rows[1:]
    names = [f"c{k}" for k in range(width)] if named is False else list(named)
    if len(names) != width:
        raise InputError(f"{name}: {len(names)} columns are named, but the sheet has {width}; name each column, in order")
    return names, rows


def _tidy(cell: Any) -> Any:
    """A cell as a Python value: None if it is blank, 3 for 3.0."""
    if isinstance(cell, str):
        return cell if cell.strip() else None
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _kind(cells: Sequence[Any]) -> tuple[Kind, bool]:
    """The kind of a column, and whether it is text that contains numbers."""
    there = [cell for cell in cells if cell is not None]
    types = {*map(type, there)}
    if str in types and types & {int, float, bool}:
        return kinds_in(map(_as_text, there))
    return kind_of(there), False


def _as_text(cell: Any) -> str:
    """A cell as it would be written in a csv file."""
    return str(int(cell)) if isinstance(cell, bool) else str(cell)


def _read(cell: Any, kind: Kind) -> Any:
    """A cell in a column of this kind: a string there may be a number that is stored as text, or a word for a missing value."""
    if not isinstance(cell, str) or kind is Kind.TEXT:
        return cell
    if cell.strip() in MISSING:
        return None
    return value if kind is Kind.NUMBER and not math.isnan(value := number(cell)) else cell


@contextmanager
def _opened(path: Path) -> Iterator[None]:
    import python_calamine as calamine

    try:
        yield
    except calamine.CalamineError as error:
        remedy = "it may be damaged, protected or in another format, save it again"
        raise FileError(f"{path} cannot be read as a workbook: {error}; {remedy}") from error
