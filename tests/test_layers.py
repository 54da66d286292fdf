"""Import layers, lowest first; siblings on one line do not import each other. There is no list of exceptions."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import onkel

pytestmark = pytest.mark.once

PACKAGE = Path(onkel.__file__).parent

LAYERS = [
    {"errors", "_types", "groups", "_code_files", "_student", "_numpys_blas"},
    {"_validate", "_jit", "state", "_writing", "_extras"},
    {"_inputs", "_native", "_simd", "turns"},
    {"_sparse", "one_row"},
    {"random"},
    {"kernels", "losses", "mixing", "linalg"},
    {"functions", "dictionary", "features"},
    {"protocol"},
    {"updates"},
    {"learners"},
    {"combine", "data"},
    {"model"},
    {"measure"},
    {"persist"},
    {"estimators", "client"},
    {"_names"},
    {"report"},
    {"serve", "scale"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@functools.cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """At the top or inside a function."""
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of onkel that a file imports."""
    found = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "onkel" else [str(node.module)]
        found |= {name.split(".")[1] for name in names if name.startswith("onkel.")}
    return found


def test_every_part_has_its_layer() -> None:
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert parts <= set(LEVEL)


def test_imports_point_downwards() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if (part := part_of(path)) != "__init__"
        for other in sorted(imported(path) - {part})
        if other not in LEVEL or LEVEL[other] >= LEVEL[part]
    ]
    assert wrong == []


def test_names_are_fetched_when_they_are_asked_for() -> None:
    code = (
        "import sys, onkel; assert 'numba' not in sys.modules; from onkel import PKAWV, losses; assert 'numba' in sys.modules; "
        "assert PKAWV is onkel.PKAWV and losses.Hinge is onkel.Hinge and 'PKAWV' in dir(onkel); from onkel import *; Gaussian()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    for name in ("Nothing", "__nothing__", "ast"):
        with pytest.raises(AttributeError, match=f"module 'onkel' has no attribute '{name}'"):
            getattr(onkel, name)


def test_only_the_command_line_imports_the_whole_package() -> None:
    """`import onkel` inside a lower layer would be a cycle that the rule above cannot see."""
    for path in PACKAGE.rglob("*.py"):
        whole = any(
            isinstance(node, ast.Import) and any(alias.name == "onkel" for alias in node.names) for node in import_statements(path)
        )
        assert not whole or part_of(path) == "cli"


def test_two_files_know_the_compiler_and_none_unpickles() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not imports_of(path) & {"numba", "llvmlite"} or path.name in ("_jit.py", "_native.py")
        assert "pickle" not in imports_of(path)
        assert "fastmath=True" not in path.read_text()


def test_only_what_takes_sparse_matrices_imports_scipy() -> None:
    """A plain install has no SciPy: whoever hands over its matrices has it, and scikit-learn needs it."""
    wrong = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "scipy" in imports_of(path)}
    assert wrong <= {"data/table.py", "estimators/online.py"}


def test_compiled_code_calls_no_blas_of_numba() -> None:
    """numba takes np.dot, @ and np.linalg from SciPy; `linalg` has its own."""
    compilers = {"hot", "hot_lean", "hot_inline", "hot_strict", "compiled_or", "blas_or"}
    for path in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or not compilers & {_name(each) for each in function.decorator_list}:
                continue
            for node in ast.walk(function):
                assert not isinstance(node, ast.MatMult), f"{path}: {function.name}"
                assert not isinstance(node, ast.Attribute) or node.attr not in {"dot", "vdot", "linalg"}, f"{path}: {function.name}"


def _name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.id if isinstance(called, ast.Name) else ""


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        else:
            found.add(str(node.module).split(".")[0])
    return found


def test_a_file_in_learners_is_a_learner_and_imports_no_other() -> None:
    files = {path.stem: path for path in (PACKAGE / "learners").glob("*.py") if path.stem != "__init__"}
    assert set(files) == {getattr(onkel, name).__module__.rsplit(".", 1)[-1] for name in onkel.learners.names}
    assert [stem for stem, path in files.items() if "learners" in imported(path)] == []


def test_the_public_names_are_all_there_and_all_listed() -> None:
    assert sorted(onkel.__all__) == sorted(set(onkel.__all__))
    for name in onkel.__all__:
        assert getattr(onkel, name) is not None
    assert set(onkel.learners.names) <= set(onkel.__all__)
