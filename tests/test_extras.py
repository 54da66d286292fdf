"""What needs a package that is not installed names it in one sentence; what does not need it works without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

from onkel._extras import IMPORTED_AS, PACKAGES, extra
from onkel.errors import InputError, MissingPackage

pytestmark = pytest.mark.once

ROWS = "kind,x,y\n" + "".join(f"{'uvw'[t % 3]},{t % 7},{t % 5}\n" for t in range(40))


def without(blocked: tuple[str, ...], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The code in a process of its own, in which these packages cannot be imported."""
    head = f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", head + code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def command(*arguments: str) -> str:
    return f"sys.argv = ['onkel', *{arguments!r}]; from onkel.cli import main; main()"


RUN = ("run", "rows.csv", "--target", "y", "--learner", "FOGD", "--json")


def test_a_csv_file_needs_none_of_the_extras(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    blocked = tuple(IMPORTED_AS.get(package, package) for package in PACKAGES.values())
    done = without(blocked, command(*RUN), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    whole = without((), command(*RUN), tmp_path)
    assert [line for line in done.stdout.split(", ") if "seconds" not in line] == [
        line for line in whole.stdout.split(", ") if "seconds" not in line
    ]
    assert without(blocked, "from onkel import *; PKAWV(); assert 'Regressor' not in globals()", tmp_path).returncode == 0


def test_a_page_needs_none_of_them_either(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    blocked = tuple(IMPORTED_AS.get(package, package) for package in PACKAGES.values())
    done = without(blocked, command("report", *RUN[1:]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rows.html").stat().st_size > 50_000


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("arrow", command("data", "rows.parquet")),
        ("arrow", command("data", "rows.csv.zst")),
        ("excel", command("data", "rows.xlsx")),
        ("plot", command(*RUN, "--plot", "p.png")),
        ("sklearn", command("data", "diabetes")),
    ],
)
def test_what_is_missing_is_named_in_one_line(name: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    (tmp_path / "rows.csv.zst").write_bytes(pyarrow.Codec("zstd").compress(ROWS.encode(), asbytes=True))
    package = PACKAGES[name]
    done = without((IMPORTED_AS.get(package, package),), code, tmp_path)
    assert done.returncode == 1
    assert " ".join(done.stderr.split()).endswith(f"requires {package}, which is not installed: pip install 'onkel[{name}]'")


def test_estimators_without_scikit_learn_are_an_import_error(tmp_path: Path) -> None:
    code = "import onkel\ntry: onkel.Regressor\nexcept ImportError as error: print(error)"
    said = "requires scikit-learn, which is not installed: pip install 'onkel[sklearn]'"
    assert without(("sklearn",), code, tmp_path).stdout.strip().endswith(said)


def test_only_the_package_itself_counts_as_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extra("plot", "a test"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert issubclass(MissingPackage, InputError)
    assert issubclass(MissingPackage, ImportError)
