"""Every row of a file is given, or counted as left out, or refused at its own line: nothing is lost in silence."""

from __future__ import annotations

import csv
import io
import re
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onkel.data import byte_streams, columns, table
from onkel.data.byte_streams import Pipe
from onkel.data.csv_file import open_csv
from onkel.data.table import Kind
from onkel.errors import FileError, InputError
from onkel.model import read

pytestmark = pytest.mark.once

HEADER = "t,y\n"
TOKENS = ['"', '""', '"a"', ",", ",", "\n", "\n", "\r\n", "\r", "\0", "a", "7", " ", "é", "\ufeff", 'b"c', '"d\n,e"']
sound_rows = st.lists(st.tuples(*[st.text(st.sampled_from('ab7 "\n\r,;é'), max_size=4)] * 2), max_size=8)


def written(rows: list[tuple[str, ...]], **how: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, **how).writerows(rows)
    return text.getvalue()


def line_of_bad_quote(text: str) -> int | None:
    """Where a quoted cell begins that is not closed where it ends, character by character."""
    line, at_start, opened, k = 1, True, None, 0
    while k < len(text):
        follower = text[k + 1 : k + 2]
        if opened is None:
            opened = line if at_start and text[k] == '"' else None
            at_start = text[k] in ",\r\n"
        elif text[k] == '"' and follower == '"':
            k += 1
        elif text[k] == '"':
            if follower not in ("", ",", "\r", "\n"):
                return opened
            opened = None
        line += text[k] == "\n" or (text[k] == "\r" and follower != "\n")
        k += 1
    return opened


def rows_of(text: str) -> tuple[list[list[str]], str]:
    """The rows that the csv module reads in strict mode up to the first that is refused, and the line of this one."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for fields in reader:
            if fields and (len(fields) != 2 or "\0" in "".join(fields)):
                return rows[1:], f", line {reader.line_num}"
            rows += [fields] if fields else []
    except csv.Error:
        return rows[1:], f", line {line_of_bad_quote(text)}: the quote before "
    return rows[1:], "" if len(rows) > 1 else "has a header but no rows"


@settings(max_examples=200, deadline=None, database=None)
@given(
    body=st.one_of(
        st.lists(st.sampled_from(TOKENS), max_size=40).map("".join),
        st.tuples(sound_rows.map(written), st.integers(0, 99)).map(lambda pair: pair[0][: pair[1]]),
    ),
    bom=st.booleans(),
    chunk=st.sampled_from([1, 7, 1 << 20]),
)
@example(body='a,b\n3,"b\n5,c\n7,d\n', bom=False, chunk=1 << 20)
@example(body='a,b\n"3\n",\n4,"b\n5,"c"\n', bom=False, chunk=1 << 20)
def test_any_text_has_the_rows_of_the_csv_module_or_is_refused_at_the_same_row(body: str, bom: bool, chunk: int) -> None:
    expected, refused = rows_of(HEADER + body)
    content = (HEADER + body).encode("utf-8-sig" if bom else "utf-8")
    found: list[tuple[str | None, ...]] = []
    said = ""
    with mock.patch.object(byte_streams, "CHUNK", chunk):
        try:
            source = open_csv(Pipe(io.BytesIO(content), "t.csv"), None, {"t": Kind.TEXT, "y": Kind.TEXT}, ",")
            for part in source.tables():
                cells = [[(*column.values, None)[code] for code in column.codes] for column in part.strings.values()]
                found += zip(*cells, strict=True)
        except (InputError, FileError) as error:
            said = str(error)
    assert found == [tuple(cell.strip() or None for cell in row) for row in expected]
    assert bool(said) == bool(refused)
    assert refused in said


@settings(max_examples=40, deadline=None, database=None)
@given(rows=sound_rows.filter(len), end=st.sampled_from(["\n", "\r\n", "\r"]), block=st.integers(1, 9))
def test_rows_learnt_and_rows_noted_are_all_rows(rows: list[tuple[str, str]], end: str, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(written([("t", "y"), *rows], quoting=csv.QUOTE_ALL, lineterminator=end).encode())
        stream = read(path, "y", block=block, missing="drop", text=["t", "y"])
        learnt = sum(len(y) for _, y in stream)
    lost = sum(not all(map(str.strip, row)) for row in rows)
    unlabelled = sum(not label.strip() for _, label in rows)
    noted = {note.partition(" dropped ")[2]: int(note.split()[0]) for note in stream.notes() if " dropped because " in note}
    expected = {"because a value was missing": lost - unlabelled, "because the label was missing": unlabelled}
    assert learnt + lost == len(rows)
    assert noted == {reason: count for reason, count in expected.items() if count}


LINES = {"t.jsonl": '{{"a": {0}.25, "y": {0}}}\n', "t.svm": "{0} 1:{0}.25\n", "t.csv": "{0}.25,{0}\n"}


@pytest.mark.parametrize("name", LINES)
def test_a_last_line_cut_short_is_refused_or_noted(tmp_path: Path, name: str) -> None:
    head = "a,y\n" if name == "t.csv" else ""
    sound = head + "".join(LINES[name].format(k) for k in (11, 12))
    last = LINES[name].format(13)
    outcomes = set()
    for size in range(len(last)):
        (tmp_path / name).write_text(sound + last[:size])
        try:
            stream = read(tmp_path / name, "y")
            rows = sum(len(y) for _, y in stream)
        except InputError as error:
            at_the_line = re.search(rf"{name}, line {sound.count(chr(10)) + 1}(: |, column 'y': the label is missing)", str(error))
            outcomes.add("refused" if at_the_line else str(error))
            continue
        whole = size == 0 or (name == "t.jsonl" and size == len(last) - 1)
        assert rows == 2 + (size > 0)
        assert ["no line end" in note for note in stream.notes()] == [True] * (not whole)
        outcomes.add("whole" if whole else "noted")
    assert outcomes == ({"refused", "whole"} if name == "t.jsonl" else {"refused", "whole", "noted"})


@pytest.mark.parametrize("label", ["1.5", "yes", '"yes"'])
def test_csv_of_25000_columns(tmp_path: Path, label: str) -> None:
    names = [f"column_{j}" for j in range(25_000)]
    cells = np.arange(75_000).reshape(3, -1) / 8
    lines = [",".join([*map(str, row), label]) for row in cells.tolist()]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*names, "y"]), *lines, ""]))
    stream = read(tmp_path / "t.csv", "y")
    assert stream.names == tuple(names)
    np.testing.assert_array_equal(np.concatenate([X for X, _ in stream]), cells)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_compressed_npz_is_never_in_memory_whole(tmp_path: Path, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BYTES_AT_ONCE", 1 << 20)
    monkeypatch.setattr(columns, "SAMPLE_CELLS", 1 << 17)
    X = np.zeros((4000, 1000), order=order)
    np.savez_compressed(tmp_path / "t.npz", X=X, y=np.zeros(4000))
    tracemalloc.start()
    rows = sum(len(y) for _, y in read(tmp_path / "t.npz"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 4000
    assert peak < X.nbytes / 2
