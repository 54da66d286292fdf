"""How far a row travels: python bench/walk.py [--check] [--list]

Runs `onkel run --learner PKAWV` on forty rows of csv, with the compiler off, and counts how many modules of onkel take part, and
how often one calls another. A module takes part if one of its functions is called; code that runs only at its import does not
count.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"

from rich.console import Console
from timing import Verdicts

import onkel
from onkel.cli import main as command_line

ROWS = 40
MOST_MODULES, MOST_CALLS = 56, 540  # the present counts; docs/decisions/cli.md says why the aim of 25 and 400 is missed


class Walk:
    """The calls from one module of onkel's to another."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_back is None or frame.f_code.co_name == "<module>":
            return
        there, here = (str(one.f_globals.get("__name__", "")) for one in (frame, frame.f_back))
        if there.startswith("onkel.") and there != here and not _is_import(frame):
            self.calls[here if here.startswith("onkel.") else "elsewhere", there] += 1

    @property
    def modules(self) -> set[str]:
        return {there for _, there in self.calls}


def _is_import(frame: FrameType) -> bool:
    """Whether this code runs while a module is loaded: decorators, classes and constants."""
    back: FrameType | None = frame
    while back is not None:
        if back.f_code.co_name == "<module>" and str(back.f_globals.get("__name__", "")).startswith("onkel"):
            return True
        back = back.f_back
    return False


def walked(path: Path) -> Walk:
    walk, sys.argv = Walk(), ["onkel", "run", str(path), "--target", "y", "--learner", "PKAWV"]
    sys.setprofile(walk)
    try:
        command_line()
    except SystemExit as stop:
        if stop.code:
            raise
    finally:
        sys.setprofile(None)
    return walk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated figure is missed")
    parser.add_argument("--list", action="store_true", help="show who calls whom")
    chosen = parser.parse_args()
    X, y = onkel.data.friedman(ROWS, dim=5, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        lines = [",".join(map(repr, [*x, label])) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
        path.write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n")
        walk = walked(path)
    console, verdicts = Console(highlight=False), Verdicts()
    if chosen.list:
        for (here, there), count in sorted(walk.calls.items(), key=lambda item: -item[1]):
            console.print(f"{count:5} {here} -> {there}")
    verdicts.at_most("modules that take part", len(walk.modules), MOST_MODULES)
    verdicts.at_most("calls from one module to another", walk.calls.total(), MOST_CALLS)
    verdicts.show(chosen.check)


if __name__ == "__main__":
    main()
