"""First answers of an installed onkel: python bench/wheel.py [--check] [WHEEL]

Installs the wheel (by default one of this checkout, which brings the code that `make compiled` has put there) into a fresh
environment, outside of the repository, and runs bench/start_up.py there: its bounds, and that nothing has to be compiled.
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
