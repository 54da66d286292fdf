"""The results of a script: stored as json beside it, so that they can be drawn again, and written as a table to the screen and to a
page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = 7  # of the numbers kept


def main(
    file: str, measured: Callable[[], Any], table: Callable[[Any], Iterable[str]], draw: Callable[[Any, Path], None] | None = None
) -> None:
    """The main function of a script: measure and store, or read what was stored; then draw the picture and write the table."""
    script, about = Path(file), sys.modules["__main__"].__doc__
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    again = f"measure nothing: write {script.stem}.md{' and .png' if draw else ''} again from {script.stem}.json"
    parser.add_argument("--draw" if draw else "--tell", action="store_true", dest="again", help=again)
    if not parser.parse_args().again:
        keep(script, measured())
    found = kept(script)
    if draw:
        draw(found, script.with_suffix(".png"))
    publish(script, table(found))


def keep(script: Path, found: Any) -> None:
    script.with_suffix(".json").write_text(json.dumps(_short(found), ensure_ascii=False) + "\n", encoding="utf-8")


def kept(script: Path) -> Any:
    return json.loads(script.with_suffix(".json").read_text(encoding="utf-8"))


def publish(script: Path, lines: Iterable[str]) -> None:
    """Print the lines, and write them to a page beside the script."""
    text = "\n".join(lines).rstrip() + "\n"
    script.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def spread(values: Any, form: str = ",.0f") -> str:
    """The mean; also the smallest and largest value, if they are printed with other digits than the mean."""
    mean, low, high = (_unsigned(f"{f(values):{form}}") for f in (np.mean, np.min, np.max))
    return mean if low == high else f"{mean} ({low} to {high})"


def _unsigned(text: str) -> str:
    """-0 is 0."""
    return text.lstrip("-") if not text.strip("-0.%") else text


def _short(found: Any) -> Any:
    if isinstance(found, dict):
        return {str(name): _short(value) for name, value in found.items()}
    if isinstance(found, list):
        return [_short(value) for value in found]
    return float(f"{found:.{DIGITS}g}") if isinstance(found, float) else found
