"""The compiler's corner: pinned BLAS, cache folders, and what a person is told."""

from __future__ import annotations

import hashlib
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import onkel
import onkel._jit

pytestmark = pytest.mark.once

FIRST_ANSWER = (
    "import numpy as np, onkel; l = onkel.PKAWV(onkel.Identity()); print(l.learn(l.init(2), np.ones((2, 2)), np.ones(2)))"
)
SMALL_ANSWER = "import numpy as np, onkel; print(onkel.Hinge()(np.ones(2), np.ones(2)))"  # compiles in a second rather than in ten


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_our_blas_has_one_thread() -> None:
    ours = [library for library in threadpool_info() if "scipy" in Path(library["filepath"]).parent.name]
    assert [library["num_threads"] for library in ours] == [1] * len(ours)
    assert ours


def test_compiled_code_is_kept_in_a_folder_named_by_the_source(tmp_path: Path) -> None:
    code = FIRST_ANSWER + "; import onkel._jit; print(onkel._jit._cache_folder()); print(onkel._jit.seconds_compiling() > 0)"
    settings = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    first, second = (run(code, **settings).stdout.splitlines() for _ in range(2))
    sources = sorted(Path(onkel.__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    assert Path(first[1]) == tmp_path / "onkel" / digest
    assert list(Path(first[1]).rglob("*.nbc"))
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == ("True", "False")


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    done = run(SMALL_ANSWER, XDG_CACHE_HOME=str(nowhere), TMPDIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("onkel-*/*"))


def test_numbas_own_setting_is_respected_and_left_alone(tmp_path: Path) -> None:
    code = SMALL_ANSWER + "; import numba; print(repr(numba.config.CACHE_DIR))"
    done = run(code, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert repr(str(tmp_path)) in done.stdout
    assert list(tmp_path.glob(f"{onkel._jit._source_hash()}/*/*.nbc"))


def test_a_folder_that_anybody_can_write_to_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "onkel").mkdir()
    (tmp_path / "onkel").chmod(0o777)
    assert not onkel._jit._is_ours(tmp_path / "onkel")
    (tmp_path / "onkel").chmod(0o755)
    assert onkel._jit._is_ours(tmp_path / "onkel")


def test_compiled_code_sees_nan_and_infinity() -> None:
    for decorate in (onkel._jit.hot, onkel._jit.hot_strict):
        assert [decorate(_kind)(value) for value in (1.0, np.nan, np.inf, -0.0)] == [0, 1, 2, 3]


def _kind(x: float) -> int:
    if np.isnan(x):
        return 1
    if np.isinf(x):
        return 2
    return 3 if math.copysign(1.0, x) < 0.0 else 0


def test_a_person_at_a_terminal_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Event:
        data = {"dispatcher": type("Dispatcher", (), {"py_func": onkel._jit._pin_blas})}  # noqa: RUF012

    listener = onkel._jit._Compilation()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for _ in range(2):
        listener.on_start(Event)
        listener.on_end(Event)
    assert capsys.readouterr().err == "onkel: compiling, once ...\n"
    assert listener.seconds > 0.0


def test_no_inlined_function_returns_an_array() -> None:
    """They count no references: an array that one returned would be freed twice."""
    returned = {}
    for module in list(sys.modules.values()):
        for name, found in vars(module).items() if module.__name__.startswith("onkel") else ():
            if getattr(found, "targetoptions", {}).get("_nrt") is False:
                returned[f"{module.__name__}.{name}"] = found.py_func.__annotations__["return"]
    words = {word for annotation in returned.values() for word in re.findall(r"[\w.]+", annotation)}
    assert words <= {"None", "bool", "int", "float", "np.uint64", "tuple"}
    assert len(returned) > 50
