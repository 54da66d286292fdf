"""The wheel works outside of the repository. (`bench/wheel.py` installs one with compiled code, and measures its first answers.)"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import onkel

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "onkel"
ROWS = "a,b,y\n" + "".join(f"{k},{k % 7},{k % 5}.5\n" for k in range(40))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_the_whole_package(wheel: Path) -> None:
    ours = {path for path in PACKAGE.rglob("*") if path.is_file() and not {"__pycache__", "_compiled"} & set(path.parts)}
    with zipfile.ZipFile(wheel) as archive:
        assert {str(path.relative_to(PACKAGE.parent)) for path in ours} <= set(archive.namelist())
    assert PACKAGE / "py.typed" in ours


def test_it_runs_outside_of_the_repository(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    (tmp_path / "rows.csv").write_text(ROWS)
    installed = f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r})"
    code = f"{installed}; import onkel; print(onkel.__file__); from onkel.cli import main; main()"
    run = [sys.executable, "-c", code, "run", "rows.csv", "--target", "y", "--learner", "PKAWV"]
    theirs = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(run, cwd=tmp_path, env=theirs, check=True, capture_output=True, text=True)
    place, *answer = done.stdout.splitlines()
    assert place.startswith(str(tmp_path))
    assert "40 rows" in answer[0]


def test_the_citation_names_this_version() -> None:
    (cited,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert cited == onkel.__version__
