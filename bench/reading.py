"""The time of reading compared with learning: python bench/reading.py [--check]

Compares the time of reading a million csv rows of 20 columns, with six digits and with all digits, with the time in which PKAWV on
100 features learns these rows; our parser of numbers with pyarrow's; and prints the peak memory of a process that reads the rows,
beyond what it has after `import onkel`. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray
from rich.console import Console
from threadpoolctl import threadpool_limits
from timing import Verdicts, in_turns

import onkel
from onkel.data.numbers import compiled as parse

ROWS, COLUMNS = 1_000_000, 20
AT_ONCE = 4096
PIECE = 1 << 20  # bytes
NAMES = [*(f"x{j}" for j in range(COLUMNS)), "y"]
console = Console(highlight=False, soft_wrap=True)

MEMORY = """
import sys, onkel
onkel.PKAWV()
def size(what):  # of this process alone; getrusage would count what its parent had
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) / 1024
before = size("VmRSS")
rows = sum(len(y) for _, y in onkel.read(sys.argv[1], "y"))
print(size("VmHWM") - before)
"""


def write(path: Path, form: str) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join(NAMES) + "\n")
        for _ in range(ROWS // 10_000):
            rows = rng.normal(size=(10_000, COLUMNS + 1)).tolist()
            file.writelines(",".join([format(value, form) for value in row]) + "\n" for row in rows)


def read(path: Path) -> None:
    for _ in onkel.read(path, "y", block=AT_ONCE):
        pass


def parse_by_arrow(piece: bytes) -> None:
    import pyarrow.csv as pc

    numbers = {name: pyarrow.float64() for name in NAMES}
    table = pc.read_csv(
        pyarrow.BufferReader(piece),
        read_options=pc.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=NAMES),
        convert_options=pc.ConvertOptions(column_types=numbers),
    )
    np.column_stack([table.column(name).to_numpy() for name in NAMES])


def learn(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    learner = onkel.PKAWV(features=onkel.Fourier(count=50))
    state = learner.init(COLUMNS)
    for start in range(0, ROWS, AT_ONCE):
        learner.learn(state, X[start : start + AT_ONCE], y[start : start + AT_ONCE])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=ROWS)
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        short, full = Path(folder, "short.csv"), Path(folder, "full.csv")
        write(short, ".6g")
        write(full, "")
        took = in_turns(3, learn=lambda: learn(X, y), short=lambda: read(short), full=lambda: read(full))
        for name, path in (("short", short), ("full", full)):
            size = path.stat().st_size / 1e6
            console.print(f"{name}.csv: {size:.0f} MB, {1e6 * took[name] / ROWS:.2f} µs a row, {size / took[name]:.0f} MB a second")
            _, *lines = path.read_bytes()[:PIECE].splitlines(keepends=True)
            piece, count = b"".join(lines[:-1]), len(lines)
            ours = functools.partial(parse, piece, ",", len(NAMES), list(range(len(NAMES))), count)
            both = in_turns(20, ours=ours, arrow=functools.partial(parse_by_arrow, piece))
            console.print(
                f"          a piece of 1 MB: pyarrow takes {both['arrow'] / both['ours']:.1f} times as long as our parser"
            )
        console.print(f"PKAWV, 100 features: {1e6 * took['learn'] / ROWS:.2f} µs a row\n")
        verdicts.at_most("time to read six digits over that to learn", took["short"] / took["learn"], 1.0)
        verdicts.at_most("time to read all digits over that to learn", took["full"] / took["learn"], 1.0)
        done = subprocess.run([sys.executable, "-c", MEMORY, str(full)], check=True, capture_output=True, text=True)
        verdicts.at_most("MB above the size after import, while reading", float(done.stdout), 100.0)
    verdicts.show(check)


if __name__ == "__main__":
    main()
