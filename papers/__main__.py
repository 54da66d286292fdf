"""Run the scripts of the five papers, all or some: each makes a table or a figure.

    python -m papers                                  quick: fewer streams, shorter ones, into papers-quick/
    python -m papers herbster2001 forks.table2        only these papers or scripts
    python -m papers --full --out FOLDER              everything at its full size, into FOLDER
    python -m papers --full --in-place                the same, in place of the results that are stored here
    python -m papers --check                          after a run: is each figure within the spread that RESULTS.md states?

Without --in-place the scripts run as copies in the folder, so nothing that is stored here changes. In a quick run the constants of
QUICK replace those of the copies. papers/made.json says of each result which commit, versions and machine made it, and
papers.page writes RESULTS.md. A script whose data or library is missing is left out, and the last lines say so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from papers import made, page

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Script:
    name: str  # papers.NAME
    data: tuple[str, ...] = ()  # NAME.npz in the folder ONKEL_DATA
    library: str | None = None  # beyond onkel's own
    quick: tuple[str, ...] = ()  # options of a quick run
    only_full: bool = False  # no quick form says anything


SCRIPTS = (
    Script("jezequel2019.table1"),
    Script("jezequel2019.figure1"),
    Script("jezequel2019.figure2", data=("cod-rna", "susy30k", "casp", "ijcnn1"), quick=("--seconds", "1")),
    Script("jezequel2019.figure3", quick=("--seeds", "1")),
    Script("jezequel2019.bounds"),
    Script("jezequel2019.points"),
    Script("jezequel2019.repeated"),
    Script("jezequel2019.million", only_full=True),
    Script("calandriello2017.regret", quick=("--seeds", "1")),
    Script("calandriello2017.time", quick=("--seconds", "4")),
    Script("calandriello2017.directions"),
    Script("calandriello2017.counterexample", quick=("--seeds", "4")),
    Script("calandriello2017.dictionary", quick=("--seeds", "1")),
    Script("calandriello2017.restarts", data=("cod-rna", "ijcnn1")),
    Script("calandriello2017.bounds"),
    Script("forks.table1"),
    Script("forks.table2", data=("german", "svmguide3", "spambase", "cod-rna", "w7a", "ijcnn1")),
    Script("forks.widths", data=("german", "svmguide3", "spambase", "cod-rna", "w7a", "ijcnn1"), only_full=True),
    Script("forks.kuairec_run"),
    Script("forks.tables34", data=("cod-rna", "german")),
    Script("forks.figure1", data=("cod-rna",)),
    Script("forks.figure2", data=("covtype",), only_full=True),
    Script("forks.figure3"),
    Script("herbster2001.cost", quick=("--largest", "100000")),
    Script("herbster2001.learners"),
    Script("herbster2001.bounds"),
    Script("herbster2001.shifting"),
    Script("herbster2001.real", data=("cadata", "bike", "kin8nm")),
    Script("herbster2001.additive", data=("cadata", "kin8nm")),
    Script("zhang_simon2021.figure1"),
    Script("zhang_simon2021.figure2"),
    Script("zhang_simon2021.figure3", only_full=True),
    Script("zhang_simon2021.figure4", library="pygam"),
    Script("zhang_simon2021.design"),
    Script("zhang_simon2021.figure5"),
    Script("zhang_simon2021.heavy_tails"),
)

QUICK: Mapping[str, Mapping[str, str]] = {  # file -> constants -> what stands in their place in a quick run
    "jezequel2019/bounds.py": {"STREAMS_OF_A_KIND": "8"},
    "calandriello2017/restarts.py": {"ROWS, REAL_ROWS, SEEDS, REAL_SEEDS": "8000, 20_000, 1, 1"},
    "forks/table1.py": {"SEEDS, BUDGET, THETA": "1, 100, 0.3", "BLOCK, TURNS": "2000, 3"},
    "forks/tables.py": {"SEEDS": "2"},
    "forks/figure1.py": {"PERMUTATIONS": "{100: 2, 400: 1}"},
    "forks/figure3.py": {"REPEATS": "3", "COUNTS": "[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]"},
    "herbster2001/bounds.py": {"ROWS, STRETCHES, SEEDS, LATER": "2_000, 5, 3, 100"},
    "herbster2001/shifting.py": {"ROWS, NOISE, SEEDS, WINDOW, RECOVERED": "2_000, 10.0, 2, 100, 0.01"},
    "zhang_simon2021/rates.py": {"REPETITIONS": "3"},
    "zhang_simon2021/figure2.py": {"STREAMS, CURVES, DOTS, CONFIDENCE": "40, 5, 1_000, 0.95"},
    "zhang_simon2021/figure4.py": {"REPETITIONS, TIMED": "1, 1"},
}


def smaller(text: str, constants: Mapping[str, str]) -> str:
    """A script's text with other constants, each of which must be there exactly once, on one line."""
    for name, value in constants.items():
        text, found = re.subn(rf"^{re.escape(name)} = .*$", f"{name} = {value}  # a quick run", text, flags=re.MULTILINE)
        if found != 1:
            raise SystemExit(
                f"the constant {name!r} stands {found} times in a script of papers/: correct QUICK in papers/__main__.py"
            )
    return text


def copied(folder: Path, full: bool) -> None:
    """The scripts, without their results, in FOLDER/papers."""
    shutil.copytree(
        ROOT / "papers",
        folder / "papers",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", "*.json", "*.png", "*.md"),
    )
    for name, constants in {} if full else QUICK.items():
        file = folder / "papers" / name
        file.write_text(smaller(file.read_text(encoding="utf-8"), constants), encoding="utf-8")


def lacking(script: Script, full: bool) -> str | None:
    """Why a script cannot run here."""
    if script.only_full and not full:
        return "it has no quick form"
    if script.library and find_spec(script.library) is None:
        return f"{script.library} is not installed: pip install 'onkel[papers]'"
    data = os.environ.get("ONKEL_DATA")
    if script.data and not data:
        return "ONKEL_DATA does not name the folder with the data sets"
    missing = [name for name in script.data if not (Path(data or "") / f"{name}.npz").is_file()]
    return f"{', '.join(missing)} missing from the folder ONKEL_DATA" if missing else None


def run(script: Script, folder: Path, full: bool) -> str:
    """Run one script in the folder, and note how its results were made. Returns the word for the last table."""
    if (why := lacking(script, full)) is not None:
        return f"left out: {why}"
    log = folder / "papers" / script.name.replace(".", "/")
    before = time.perf_counter()
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", f"papers.{script.name}", *(() if full else script.quick)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        log.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")
        return f"FAILED, see {log.with_suffix('.log')}"
    made.note(folder, script.name, seconds=time.perf_counter() - before, full=full)
    return f"{time.perf_counter() - before:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a paper or a script (default: all)")
    parser.add_argument("--full", action="store_true", help="the sizes of the stored results")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, default=ROOT / "papers-quick", help="where the scripts run (default: %(default)s)")
    where.add_argument("--in-place", action="store_true", help="replace the stored results; needs --full")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at the same time; more than one spoils their times")
    parser.add_argument("--check", action="store_true", help="run nothing: compare the results in --out with the stored ones")
    options = parser.parse_args()
    if options.in_place and not options.full:
        parser.error("only results of full size are stored: --in-place needs --full")
    if options.check:
        raise SystemExit(page.compare(ROOT, options.out))
    chosen = [s for s in SCRIPTS if not options.names or {s.name, s.name.partition(".")[0]} & set(options.names)]
    if not chosen:
        parser.error(f"no script is called {', '.join(options.names)}; there are {', '.join(s.name for s in SCRIPTS)}")
    folder = ROOT if options.in_place else options.out.resolve()
    if not options.in_place:
        copied(folder, options.full)
    with ThreadPoolExecutor(options.jobs) as pool:
        told = pool.map(lambda script: (script, run(script, folder, options.full)), chosen)
        ended = [(script.name, print(f"{script.name:32} {word}", flush=True), word) for script, word in told]
    page.write(folder)
    if any(word.startswith("FAILED") for _, _, word in ended):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
