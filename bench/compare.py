"""The benchmarks beside their last stored run: python bench/compare.py [--store] [BENCH …]        (make bench-compare)

Runs the benchmarks that state ratios and shows, for each stated ratio, this run, the stored one (stored.json) and their quotient.
Every figure is a ratio within one run, so a faster or busier machine changes little; still, figures within a factor of 1.25 of the
stored ones are shown dim. --store keeps the figures of this run, with commit, versions and machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from stored import made
from timing import RESULTS

HERE = Path(__file__).parent
FILE = HERE / "stored.json"
BENCHES = (
    "speed", "nystroem", "newton", "budget", "additive", "functional_sgd", "estimators", "intervals", "reading", "start_up", "size",
    "auto", "threads", "one_row", "walk",
)  # fmt: skip
NOISE = 1.25


def run(name: str) -> dict[str, Any] | None:
    """The stated ratios of one benchmark, as {what: [value, sign]}; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py"],
            env={**os.environ, RESULTS: str(file)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode or not file.is_file():
            print(f"bench/{name}.py failed:\n{done.stderr[-1000:]}", file=sys.stderr)
            return None
        return dict(json.loads(file.read_text(encoding="utf-8")))


def kept() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.is_file() else {}


def show(name: str, now: dict[str, Any], then: dict[str, Any]) -> None:
    how = then.get("made")
    title = f"{name}, stored on {how['date']} from {how['commit']}, {how['machine']}" if how else f"{name}: nothing is stored"
    table = Table(title=title, box=None, title_justify="left", header_style="bold", pad_edge=False)
    for heading in ("stated", "this run", "bound", "stored", "now / stored"):
        table.add_column(heading, justify="left" if heading == "stated" else "right")
    for what, (value, bound) in now.items():
        before = then.get("ratios", {}).get(what, [None])[0]
        quotient = value / before if before else None
        style = "dim" if quotient and 1.0 / NOISE <= quotient <= NOISE else ""
        told = [f"{value:,.3g}", bound, f"{before:,.3g}" if before else "", f"{quotient:.2f}" if quotient else ""]
        table.add_row(what, *told, style=style)
    Console(highlight=False, soft_wrap=True).print(table, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="BENCH", help="only these benchmarks")
    parser.add_argument("--store", action="store_true", help="keep this run's figures")
    options = parser.parse_args()
    for name in options.names or BENCHES:
        if (now := run(name)) is None:
            continue
        stored = kept()
        show(name, now, stored.get(name, {}))
        if options.store:
            stored[name] = {"made": made(), "ratios": now}
            FILE.write_text(json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
