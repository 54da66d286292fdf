"""First answers of an installed onkel: python bench/wheel.py [--check] [WHEEL]

Installs the wheel into a fresh environment outside of the repository and runs bench/start_up.py there, which checks the start-up
times and that no code has to be compiled. Without an argument, the wheel is built from this checkout, with the code that `make
compiled` has put into it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from size import installed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    parser.add_argument("wheel", nargs="?", type=Path)
    given = parser.parse_args()
    theirs = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "NUMBA_CACHE_DIR"}}
    with tempfile.TemporaryDirectory() as name:
        python = installed([], Path(name), given.wheel and given.wheel.absolute())
        measure = [str(python), str(Path(__file__).with_name("start_up.py")), *(["--check"] if given.check else [])]
        sys.exit(subprocess.run(measure, cwd=name, env=theirs, check=False).returncode)


if __name__ == "__main__":
    main()
