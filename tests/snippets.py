"""The snippets of a Markdown page, run in order as a reader would type them, in one folder and one Python session.

    ```python … ```                 is executed; if a ```text block follows at once, it is what was printed
    ```pycon … ```                  is run like a doctest
    ```sh … ```                     lines `onkel …` are run; lines `make …`, `python …`, `pip …` and `git …` must name what exists
    <!-- run … -->                  Python that makes what the page takes for granted, and that readers do not see
    <!-- long -->                   the next snippet takes more than seconds

A fence without a language is a shell's if its first line is a command. Everything else is not run.
"""

from __future__ import annotations

import contextlib
import csv
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.cli import main

ROOT = Path(__file__).parents[1]
PIECE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>[\w-]*) *\n(?P<code>.*?)^ *(?P=fence) *$"
    r"|<!-- (?P<mark>run|long)\b(?P<hidden>.*?)-->",
    re.DOTALL | re.MULTILINE,
)
COMMANDS = ("onkel ", "make ", "make\n", "pip ", "python ", "git ", "tail ", "ONKEL_DATA=", "head ", "curl ")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TOWNS = ("Bonn", "Ulm", "Jena")


@dataclass(frozen=True)
class Snippet:
    """One block that is run, and what it must print, if the page says so."""

    line: int
    language: str
    code: str
    output: str | None = None
    long: bool = False


def snippets(page: str) -> list[Snippet]:
    """The blocks of a page that are run, in order."""
    found: list[Snippet] = []
    long, end = False, 0
    for piece in PIECE.finditer(page):
        line = page.count("\n", 0, piece.start()) + 1
        follows, end = not page[end : piece.start()].strip(), piece.end()
        if piece["mark"] == "long":
            long = True
        elif piece["mark"] == "run":
            found.append(Snippet(line, "python", piece["hidden"].strip("\n")))
        else:
            code = re.sub(rf"^{piece['indent']}", "", piece["code"], flags=re.MULTILINE)
            language = piece["language"] or ("sh" if code.startswith(COMMANDS) else "")
            if language in ("python", "pycon", "sh"):
                found.append(Snippet(line, language, code, long=long))
            elif language == "text" and follows and found and found[-1].language == "python":
                found[-1] = Snippet(found[-1].line, "python", found[-1].code, code, found[-1].long)
            long = False
    return found


class Session:
    """One reader: a Python session and a shell in one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.names: dict[str, Any] = {"onkel": onkel, "np": np, "__name__": "__main__"}
        monkeypatch.chdir(folder)

    def run(self, snippet: Snippet, page: str) -> None:
        where = f"{page}, line {snippet.line}"
        if snippet.language == "pycon":
            test = doctest.DocTestParser().get_doctest(snippet.code, self.names, where, page, snippet.line)
            told = io.StringIO()
            doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.write, clear_globs=False)
            self.names.update(test.globs)
            assert not told.getvalue(), told.getvalue()
        elif snippet.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(snippet.code, where, "exec"), self.names)
            if snippet.output is not None:
                same = doctest.OutputChecker().check_output(snippet.output, printed.getvalue(), FLAGS)
                assert same, f"{where}: it prints\n{printed.getvalue()}"
        else:
            for command in commands(snippet.code):
                self._shell(command, where)

    def _shell(self, command: str, where: str) -> None:
        words = shlex.split(command, comments=True)
        if wrong := not_there(words):
            raise AssertionError(f"{where}: {wrong}")
        if words[0] == "onkel" and not {"|", ">"} & set(words):
            status, told = self._onkel(words)
        elif "onkel" in words:
            status, told = self._bash(command)
        else:
            return
        assert status == 0, f"{where}: {command}\n{told}"

    def _onkel(self, words: Sequence[str]) -> tuple[int, str]:
        """The command in this process: compiled code is there already."""
        self.monkeypatch.setattr(sys, "argv", list(words))
        told, status = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), 0
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            try:
                main()
            except SystemExit as stop:
                status = int(stop.code or 0)
        told.flush()
        return status, told.buffer.getvalue().decode()

    def _bash(self, command: str) -> tuple[int, str]:
        """The command with pipes; `onkel` is the one of this repository."""
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = re.sub(
            r"\bonkel (?=run|compare|predict|report|data|learners)", f"{shlex.quote(sys.executable)} -m onkel ", command
        )
        done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, env=env, check=False)
        return done.returncode, done.stdout + done.stderr


def commands(code: str) -> Iterator[str]:
    """The lines of a shell block, without prompts and comments; a backslash continues a line."""
    for line in code.replace("\\\n", " ").splitlines():
        line = line.strip().removeprefix("$ ")
        if line and not line.startswith("#"):
            yield line


def not_there(words: Sequence[str]) -> str:
    """What a command that is not run names although the repository does not have it."""
    words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        unknown = [word for word in words[1:] if word not in targets]
        return f"make has no {', '.join(unknown)}" if unknown else ""
    if words[0].startswith("python") and len(words) > 1 and words[1].endswith(".py"):
        return "" if (ROOT / words[1]).exists() else f"no file {words[1]}"
    if words[0].startswith("python") and words[1:2] == ["-m"] and words[2].startswith("papers."):
        path = words[2].replace(".", "/") + ".py"
        return "" if (ROOT / path).exists() else f"no file {path}"
    return "" if words[0] in ("onkel", "python", "pip", "git", "tail", "head", "curl", "cd") else f"nobody knows {words[0]}"


def write_files(folder: Path) -> None:
    """The files that pages speak of: flats and their prices, three years of them, and new ones without a price."""
    for seed, name in enumerate(("prices.csv", "2024.csv", "2025.csv", "2026.csv", "new.csv")):
        rng = np.random.default_rng(seed)
        left_out = {"prices.csv": "id", "new.csv": "price"}.get(name)
        flats = []
        for number in range(40 if name == "new.csv" else 600):
            size, town = rng.uniform(20.0, 120.0), int(rng.integers(3))
            price = 40 + 3.1 * size + 60 * town + 0.02 * size**2 + rng.normal(0, 15)
            day = f"2024-{number // 56 + 1:02}-{number // 2 % 28 + 1:02}"
            flats.append({"id": number, "date": day, "size": f"{size:.1f}", "town": TOWNS[town], "price": f"{price:.1f}"})
        with (folder / name).open("w", newline="") as file:
            table = csv.DictWriter(file, [column for column in flats[0] if column != left_out], extrasaction="ignore")
            table.writeheader()
            table.writerows(flats)
