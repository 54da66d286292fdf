"""The compiler's corner: pinned BLAS, cache folders, and what a person is told."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest

import onkel
import onkel._code_files
import onkel._jit

pytestmark = pytest.mark.once

SMALL_ANSWER = "import numpy as np, onkel, onkel._jit as j; print(onkel.Hinge()(np.ones(2), np.ones(2)), j.seconds_compiling() > 0)"
ANSWER = "[0. 0.]"
# whatever the user has set; for this very processor no code comes with the package
OURS = {"NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": "", "NUMBA_CPU_NAME": llvmlite.binding.get_host_cpu_name()}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **OURS, **environment}
    )


def answer(**environment: str) -> bool:
    """Whether the right answer, given without a word on the standard error, took the compiler."""
    done = run(SMALL_ANSWER, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(ANSWER)
    return done.stdout.split()[-1] == "True"


def test_our_blas_has_one_thread_and_others_keep_theirs() -> None:
    code = "import json, threadpoolctl, scipy.linalg, onkel; onkel.PKAWV; print(json.dumps(threadpoolctl.threadpool_info()))"
    found = json.loads(run(code, OPENBLAS_NUM_THREADS="2").stdout)
    threads = {Path(library["filepath"]).parent.name: library["num_threads"] for library in found}
    if set(threads) != {"numpy.libs", "scipy.libs"} or os.cpu_count() == 1:
        pytest.skip("needs wheels of NumPy and SciPy, and two processors")
    assert threads == {"numpy.libs": 1, "scipy.libs": 2}


WITHOUT_BLAS = "import onkel._numpys_blas as n; n.NAMES = ('no_{}',)"
SHORT_INTEGERS = "import scipy.linalg.cython_blas as s, onkel._numpys_blas as n; n.numpys = s"  # of 32 bits in SciPy's wheel
SOLVE = """
import numpy as np
from onkel.linalg import blas, triangular
info = np.full(1, 7)
blas.potrf(np.array([[4.0, 2.0], [0.0, 2.0]]), info)
print(triangular.solved_lower(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0])), info, blas.symv is blas.loops.symv)
"""


def test_where_numpy_has_no_blas_loops_take_its_place_and_their_code_is_kept_apart(tmp_path: Path) -> None:
    for head, loops, files in ("", False, 2), (SHORT_INTEGERS, False, 2), (WITHOUT_BLAS, True, 4):
        done = run(head + SOLVE, NUMBA_CACHE_DIR=str(tmp_path))
        assert (done.stdout, done.stderr) == (f"[1. 2.] [0] {loops}\n", "")
        assert len(kept(tmp_path / "onkel")) == files


def kept(root: Path) -> list[Path]:
    return sorted((root / "compiled").rglob("*.nbc"))


def test_compiled_code_is_kept_as_long_as_it_is_used(tmp_path: Path) -> None:
    assert answer(XDG_CACHE_HOME=str(tmp_path))
    old, *others = kept(tmp_path / "onkel")
    assert "losses" in old.name
    os.utime(old, (0, 0))
    for file in others:
        file.unlink()
    unused = old.with_name(f"onkel.unused-{old.name}")
    unused.write_bytes(b"")
    os.utime(unused, (0, 0))
    assert not answer(XDG_CACHE_HOME=str(tmp_path), PYTHONHASHSEED="7")
    assert answer(XDG_CACHE_HOME=str(tmp_path), NUMBA_OPT="1")  # other code
    assert old.exists()
    assert not unused.exists()


def test_an_edit_is_noticed_where_it_matters(tmp_path: Path) -> None:
    """Compiled again is what imports the edited file, directly or not, and nothing else."""
    package = Path(shutil.copytree(Path(onkel.__file__).parent, tmp_path / "source" / "onkel"))
    settings = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "source")}
    assert answer(**settings)
    for edited, compiled_again in (["model/encoder.py", "learners/rbp.py", "state.py"], False), (["_inputs.py"], True):
        for file in (package / name for name in edited):
            file.write_text(f"{file.read_text()}\n# edited\n")
        assert answer(**settings) == compiled_again


def test_code_that_came_with_the_package_is_used_while_it_is_whole_and_fits(tmp_path: Path) -> None:
    level, about = next(iter(onkel._jit.LEVELS.items()))
    if not all(llvmlite.binding.get_host_cpu_features().get(name) for name in about[0].split()):
        pytest.skip("needs a processor of the highest level")
    package = Path(shutil.copytree(Path(onkel.__file__).parent, tmp_path / "onkel", ignore=shutil.ignore_patterns("_compiled")))
    ours = {"PYTHONPATH": str(tmp_path), "NUMBA_CPU_NAME": ""}

    def compiles(cache: str, **settings: str) -> bool:
        return answer(NUMBA_CACHE_DIR=str(tmp_path / cache), **{**ours, **settings})

    assert compiles("first", NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES=about[1])
    brought = Path(shutil.copytree(tmp_path / "first" / "onkel" / "compiled", package / "_compiled" / level))
    assert not compiles("second")
    assert not (tmp_path / "second").exists()
    assert compiles("third", NUMBA_CPU_NAME=OURS["NUMBA_CPU_NAME"])  # for exactly this processor
    for file in brought.glob("*.nbc"):
        file.write_bytes(file.read_bytes()[:-1])
    assert compiles("fourth")
    shutil.rmtree(brought)
    assert compiles("fifth")


def test_the_hash_covers_every_module_that_code_can_see() -> None:
    """By the modules' own names, when they are loaded: imports that are written in an unusual way would be missed by the hash."""
    for module in [found for name, found in sys.modules.items() if name.startswith("onkel.")]:
        seen = {other.__name__ for other in vars(module).values() if inspect.ismodule(other)}
        seen |= {str(getattr(value, "__module__", "")) for value in vars(module).values()}
        covered, new = {module.__name__}, {module.__name__}
        while new:
            new = set().union(*map(onkel._code_files.imported, new)) - covered
            covered |= new
        assert {name for name in seen if name.startswith("onkel.") and not name.startswith(f"{module.__name__}.")} <= covered


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    assert answer(XDG_CACHE_HOME=str(nowhere), TMPDIR=str(tmp_path))
    assert list(tmp_path.glob("onkel-*/**/*.nbc"))


def test_numbas_own_setting_is_respected_and_left_alone(tmp_path: Path) -> None:
    code = SMALL_ANSWER + "; import numba; print(ascii(numba.config.CACHE_DIR))"
    assert ascii(str(tmp_path)) in run(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout
    assert kept(tmp_path / "onkel")


def test_a_damaged_file_is_compiled_anew_and_replaced(tmp_path: Path) -> None:
    settings = {"XDG_CACHE_HOME": str(tmp_path)}
    assert answer(**settings)
    for file in kept(tmp_path / "onkel"):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert answer(**settings)
    for file in kept(tmp_path / "onkel"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1  # in the machine code
        file.write_bytes(data)
    assert answer(**settings)
    assert not answer(**settings)


def test_files_that_somebody_else_wrote_or_may_write_to_are_not_loaded(tmp_path: Path) -> None:
    settings = {"XDG_CACHE_HOME": str(tmp_path)}
    assert answer(**settings)
    for file in kept(tmp_path / "onkel"):
        file.chmod(0o666)
    assert answer(**settings)
    assert {file.stat().st_mode & 0o777 for file in kept(tmp_path / "onkel")} == {0o600}
    if os.getuid() == 0:
        for file in kept(tmp_path / "onkel"):
            os.chown(file, 1, 1)
        assert answer(**settings)
        assert {file.stat().st_uid for file in kept(tmp_path / "onkel")} == {0}


@pytest.mark.parametrize("spoil", ["owner of the root", "owner", "mode"])
def test_a_folder_of_somebody_else_is_left_alone(spoil: str, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "onkel" / "compiled"
    folder.mkdir(parents=True, mode=0o700)
    if spoil == "mode":
        folder.chmod(0o777)
    elif os.getuid() == 0:
        os.chown(folder if spoil == "owner" else folder.parent, 1, 1)
        if spoil == "owner of the root":
            folder.rmdir()
    else:
        pytest.skip("only root can give a folder away")
    assert answer(XDG_CACHE_HOME=str(tmp_path / "home"), TMPDIR=str(tmp_path))
    assert list(folder.parent.rglob("*.nbc")) == []
    assert folder.exists() == (spoil != "owner of the root")
    assert list(tmp_path.glob("onkel-*/**/*.nbc"))


def test_where_nothing_can_be_kept_it_is_compiled_for_the_process(tmp_path: Path) -> None:
    (tmp_path / f"onkel-{os.getuid()}").write_text("in the way")
    (tmp_path / "onkel").write_text("in the way")
    assert answer(XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(tmp_path))


def test_a_full_disk_is_no_obstacle(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(tmp_path)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    try:
        assert answer(XDG_CACHE_HOME=str(tmp_path))
        assert list(tmp_path.rglob("*.tmp")) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path: Path) -> None:
    settings = {**os.environ, **OURS, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", SMALL_ANSWER]
    together = [subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate()[0].split() for process in together]
    assert sorted(answers) == [[*ANSWER.split(), "False"], [*ANSWER.split(), "True"]]
    assert sorted(file for file in tmp_path.rglob("*") if file.is_file()) == kept(tmp_path / "onkel")


locks = pytest.mark.skipif(sys.platform == "win32", reason="every process compiles for itself")


@locks
def test_nobody_waits_forever_nor_for_the_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "code.nbc")
    assert run(f"import os, onkel._code_files as j; j.claim({path!r}); os._exit(7)").returncode == 7
    mine = onkel._code_files.claim(path)
    assert mine is not None
    monkeypatch.setattr(onkel._code_files, "SECONDS_ANOTHER_IS_WAITED_FOR", 0.05)
    assert onkel._code_files.claim(path) is None
    os.close(mine)
    theirs = onkel._code_files.claim(path)
    assert theirs is not None
    os.close(theirs)
    assert onkel._code_files.claim(str(tmp_path / "no folder" / "code.nbc")) is None


@locks
def test_what_cannot_be_compiled_is_waited_for_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onkel._jit, "cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(_kind, "__module__", "onkel.tests")
    compiled: Any = onkel._jit.hot(_kind)
    with pytest.raises(numba.TypingError):
        compiled("no number")
    assert list(tmp_path.iterdir()) == []
    assert compiled(1.0) == 0
    assert [file.suffix for file in tmp_path.iterdir()] == [".nbc"]


TWO_LEARNERS = """
import sys, numpy as np, onkel
X, y = np.random.default_rng(0).normal(size=(50, 2)), np.tile([1.0, -1.0], 25)
learners = onkel.Perceptron(), onkel.RBP(budget=5)
np.savez(sys.argv[1], *(learner.learn(learner.init(2), X, y) for learner in learners))
"""


@pytest.mark.long
def test_processes_that_compile_at_once_give_the_same_answers(tmp_path: Path) -> None:
    """All of them begin with an empty cache; the last one finds what they left."""
    for trial in range(10):
        settings = {**os.environ, **OURS, "XDG_CACHE_HOME": str(tmp_path / str(trial))}
        files = [tmp_path / f"{trial}-{k}.npz" for k in range(3)]
        commands = [[sys.executable, "-c", TWO_LEARNERS, str(file)] for file in files]
        together = [subprocess.Popen(command, env=settings) for command in commands[:2]]
        assert [process.wait() for process in together] == [0, 0]
        subprocess.run(commands[2], env=settings, check=True)
        scores = [np.load(file) for file in files]
        for learner in scores[0].files:
            assert scores[0][learner].any()
            assert len({found[learner].tobytes() for found in scores}) == 1


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
        dispatcher = type("Dispatcher", (), {"py_func": onkel._jit.clock, "overloads": {()}})
        data = {"dispatcher": dispatcher, "args": ()}  # noqa: RUF012

    onkel._jit._say_once.cache_clear()
    listener = onkel._jit._Compilation()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for _ in range(2):
        listener.on_start(Event)
        listener.on_end(Event)
    assert capsys.readouterr().err == "onkel: compiling, once ...\n"
    assert listener.seconds > 0.0


@pytest.mark.parametrize(("shell", "said"), [(None, ""), (object(), "onkel: hello\n")])
def test_a_notebook_is_watched_and_a_script_is_not(
    shell: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """IPython may be imported by a script, too; only its shell says that somebody watches."""
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": staticmethod(lambda: shell)}))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    onkel._jit._say_once.cache_clear()
    onkel._jit._say_once("onkel: hello")
    assert capsys.readouterr().err == said


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
