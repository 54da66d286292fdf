"""Compile what first answers need and put it into the package: python compile_ahead.py [--all]

Runs commands on small files with an empty cache, for a level of x86-64 (see `LEVELS` in `onkel._jit`), and then again: the code
that the second turn loads is kept in src/onkel/_compiled, from where wheels and this checkout use it. It fits the versions of
Python and numba, and the source, that it was made with; with others it is ignored. By default only the highest level of this
processor is compiled; --all is for wheels.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import llvmlite.binding
import numpy as np

from onkel._jit import BROUGHT, LEVELS

ROWS = 2500  # enough for every stage of Auto

COMMANDS = (
    "compare numbers.csv --target y",
    "run numbers.csv --target y --learner PKAWV --save model.onkel",
    "predict model.onkel numbers.csv",
    "run numbers.csv --target y --shuffle 0 --save model.onkel",
    "predict model.onkel numbers.csv",
    "compare two.csv --target label",
    "run three.csv --target label --save model.onkel",
    "predict model.onkel three.csv",
    "run mixed.csv --target y --missing mean",
    "report numbers.csv --target y --out report.html",
    "report three.csv --target label --out report.html",
)

# single rows need code of their own
SINGLE_ROWS = """
import numpy as np, onkel
X = np.random.default_rng(0).normal(size=(300, 4)).tolist()
for model, label in (onkel.Regressor(), float), (onkel.Regressor(onkel.PKAWV()), float), (onkel.Classifier(), bool):
    for row in X:
        given = dict(zip("abcd", row))
        model.predict_one(given)
        model.learn_one(given, label(row[0] > 0.0))
"""


def write_files(folder: Path) -> None:
    """Numbers, two labels, three labels, and strings with gaps."""
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    ranks = np.digitize(y, (-0.5, 0.5))
    cells = [",".join(f"{value:.6f}" for value in row) for row in X]
    _write(folder / "numbers.csv", "a,b,c,d,y", [f"{row},{value:.6f}" for row, value in zip(cells, y, strict=True)])
    _write(folder / "two.csv", "a,b,c,d,label", [f"{row},{'yes' if k == 2 else 'no'}" for row, k in zip(cells, ranks, strict=True)])
    _write(folder / "three.csv", "a,b,c,d,label", [f"{row},{'uvw'[k]}" for row, k in zip(cells, ranks, strict=True)])
    gaps = ["" if t % 7 == 0 else f"{x:.6f}" for t, x in enumerate(X[:, 0])]
    dates = [f"2026-01-{1 + t % 28:02d}" for t in range(ROWS)]
    mixed = [f"{x},{'uvw'[t % 3]},{dates[t]},{value:.6f}" for t, (x, value) in enumerate(zip(gaps, y, strict=True))]
    _write(folder / "mixed.csv", "a,kind,date,y", mixed)


def _write(path: Path, header: str, lines: list[str]) -> None:
    path.write_text("\n".join([header, *lines]) + "\n")


def compile_for(level: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name, "onkel", "compiled")
        write_files(folder)
        environment = {**os.environ, "NUMBA_CACHE_DIR": name, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": LEVELS[level][1]}
        for _ in "compile", "load":
            for file in cache.glob("*.nbc"):
                os.utime(file, (0, 0))
            for command in COMMANDS:
                whole = [sys.executable, "-m", "onkel", *command.split()]
                subprocess.run(whole, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
            subprocess.run([sys.executable, "-c", SINGLE_ROWS], cwd=folder, env=environment, check=True)
        used = [file for file in cache.glob("*.nbc") if file.stat().st_mtime > 0]
        shutil.rmtree(BROUGHT / level, ignore_errors=True)
        (BROUGHT / level).mkdir(parents=True)
        for file in used:
            shutil.copy(file, BROUGHT / level)
        print(f"{level}: {len(used)} functions, {sum(file.stat().st_size for file in used) / 1e6:.1f} MB in {BROUGHT / level}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="for every level that this processor has")
    has = llvmlite.binding.get_host_cpu_features()
    levels = [level for level, (needs, _) in LEVELS.items() if all(has.get(name) for name in needs.split())]
    if not levels:
        print("compiled code is brought for x86-64 only; here it is compiled on first use")
    for level in levels if parser.parse_args().all else levels[:1]:
        compile_for(level)


if __name__ == "__main__":
    main()
