"""The time before the first answer: python bench/start_up.py [--check]

Runs fresh processes in turns: `import numba`, as the unit; `import onkel`, which loads its names only when the first is used;
`import onkel` with the use of one name; `onkel --help`; and `onkel run` on a small csv, by PKAWV and by Auto, with an empty and
with a full cache of compiled code. With an empty cache, the compiled code that came with the package is used (`make compiled` has
put it there); once for each learner, the run is also timed without it, so that everything is compiled. Times are processor times,
which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import llvmlite.binding
import numpy as np
from rich.console import Console
from timing import Verdicts

TURNS = 5
ROWS = 2000
COMMAND = "import sys; sys.argv = ['onkel', {arguments}]; from onkel.cli import main; main()"


def fresh(code: str, **environment: str) -> float:
    """The seconds of processor time of this code in a process of its own, which may keep its bytecode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**kept, **environment}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_rows(path: Path) -> None:
    """A file of six inputs and a number to predict."""
    X = np.random.default_rng(1).normal(size=(ROWS, 6))
    rows = np.column_stack([X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]])
    np.savetxt(path, rows, fmt="%.6f", delimiter=",", header="a,b,c,d,e,f,y", comments="")


def command(*arguments: str) -> str:
    return COMMAND.format(arguments=", ".join(map(repr, arguments)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as name:
        rows, warm = Path(name, "rows.csv"), Path(name, "warm")
        write_rows(rows)
        answers = {learner: command("run", str(rows), "--target", "y", "--learner", learner) for learner in ("PKAWV", "Auto")}

        functions = dict.fromkeys(answers.values(), 0)  # how many had to be compiled

        def empty(code: str, **environment: str) -> float:
            with tempfile.TemporaryDirectory(dir=name) as cache:
                seconds = fresh(code, NUMBA_CACHE_DIR=cache, **environment)
                functions[code] = len(list(Path(cache).rglob("*.nbc")))
                return seconds

        host = llvmlite.binding.get_host_cpu_name()  # no compiled code for it comes with the package
        compiled = {learner: empty(code, NUMBA_CPU_NAME=host) for learner, code in answers.items()}
        contenders: dict[str, Callable[[], float]] = {
            "numba": partial(fresh, "import numba"),
            "onkel": partial(fresh, "import onkel"),
            "name": partial(fresh, "import onkel; onkel.PKAWV"),
            "help": partial(fresh, command("--help")),
            "PKAWV, empty": partial(empty, answers["PKAWV"]),
            "PKAWV, full": partial(fresh, answers["PKAWV"], NUMBA_CACHE_DIR=str(warm)),
            "Auto, empty": partial(empty, answers["Auto"]),
            "Auto, full": partial(fresh, answers["Auto"], NUMBA_CACHE_DIR=str(warm)),
        }
        for work in contenders.values():
            work()  # bytecode and cache
        took = {what: statistics.median(work() for _ in range(TURNS)) for what, work in contenders.items()}
    Console(highlight=False, soft_wrap=True).print(
        ", ".join(f"{what}: {seconds:.2f} s" for what, seconds in took.items())
        + f"; with everything compiled PKAWV {compiled['PKAWV']:.1f} s, Auto {compiled['Auto']:.1f} s\n"
    )
    verdicts = Verdicts()
    for what, name, bound in (
        ("import onkel", "onkel", 2.0),
        ("onkel --help", "help", 2.0),
        ("the first answer of PKAWV, cache empty,", "PKAWV, empty", 10.0),
        ("the first answer of Auto, cache empty,", "Auto, empty", 20.0),
        ("the first answer of PKAWV, cache full,", "PKAWV, full", 2.0),
    ):
        verdicts.at_most(f"time of {what} over import numba", took[name] / took["numba"], bound)
    for learner, code in answers.items():
        verdicts.at_most(f"functions that the first answer of {learner} compiles", functions[code], 0)
    verdicts.show(check)


if __name__ == "__main__":
    main()
