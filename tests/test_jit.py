"""The compiler's corner: pinned BLAS, cache folders, and what a person is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

import onkel._jit

FIRST_ANSWER = (
    "import numpy as np, onkel; l = onkel.PKAWV(onkel.Identity()); print(l.learn(l.init(2), np.ones((2, 2)), np.ones(2)))"
)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_our_blas_has_one_thread() -> None:
    assert onkel._jit.hot is not None
    ours = [library for library in threadpool_info() if "scipy" in Path(library["filepath"]).parent.name]
    assert [library["num_threads"] for library in ours] == [1] * len(ours)
    assert ours


def test_compiled_code_is_kept_in_a_folder_named_by_the_source(tmp_path: Path) -> None:
    code = FIRST_ANSWER + "; import onkel._jit; print(onkel._jit._cache_folder()); print(onkel._jit.seconds_compiling() > 0)"
    settings = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    first, second = (run(code, **settings).stdout.splitlines() for _ in range(2))
    assert Path(first[1]).parent == tmp_path / "onkel"
    assert list(Path(first[1]).rglob("*.nbc"))
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == ("True", "False")


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    done = run(FIRST_ANSWER, XDG_CACHE_HOME=str(nowhere), TMPDIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("onkel-*/*"))


def test_numbas_own_setting_is_respected_and_left_alone(tmp_path: Path) -> None:
    code = FIRST_ANSWER + "; import numba; print(repr(numba.config.CACHE_DIR))"
    done = run(code, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert repr(str(tmp_path)) in done.stdout
    assert list(tmp_path.rglob("*.nbc"))


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
