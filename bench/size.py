"""How much a plain install takes on disk: python bench/size.py [--check] [EXTRA ...]

Makes a fresh virtual environment, installs the wheel of this checkout into it (with these extras, if any), and adds up the files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from rich.console import Console
from timing import Verdicts

ROOT = Path(__file__).parent.parent
SHOWN = 6  # packages


def installed(extras: list[str], folder: Path, wheel: Path | None = None) -> Path:
    """The Python of an environment in this folder with onkel alone: this wheel, or one of this checkout."""
    quiet = ("--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "venv", str(folder / "venv"))
    python = folder / "venv" / "bin" / "python"
    if wheel is None:
        run(str(python), "-m", "pip", "wheel", *quiet, "--no-deps", "--wheel-dir", str(folder), str(ROOT))
        wheel = next(folder.glob("onkel-*.whl"))
    run(str(python), "-m", "pip", "install", *quiet, f"{wheel}[{','.join(extras)}]" if extras else str(wheel))
    return python


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def megabytes(folder: Path) -> Counter[str]:
    """The megabytes of each package: blocks on disk, as `du` counts them."""
    sizes: Counter[str] = Counter()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            sizes[file.relative_to(folder).parts[0]] += file.stat().st_blocks * 512
    return Counter({name: round(size / 1e6) for name, size in sizes.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated size is exceeded")
    parser.add_argument("extras", nargs="*")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        installed(given.extras, Path(name))
        packages = next(Path(name, "venv", "lib").glob("python*/site-packages"))
        sizes, whole = megabytes(packages), sum(megabytes(Path(name, "venv")).values())
    largest = ", ".join(f"{package} {size}" for package, size in sizes.most_common(SHOWN))
    Console(highlight=False, soft_wrap=True).print(f"the environment {whole} MB, of which {largest}\n")
    verdicts = Verdicts()
    if not given.extras:
        verdicts.at_most("MB of a plain install", whole, 450.0)
    verdicts.show(given.check)


if __name__ == "__main__":
    main()
