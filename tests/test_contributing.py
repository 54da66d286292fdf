"""CONTRIBUTING.md, done literally: a learner is one file, one oracle and one line, and then keeps every law."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import onkel

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
STEP = re.compile(r"`((?:src|tests)/[\w/]+\.py)`\n\n( +)```python\n(.*?)\n\2```", re.DOTALL)


def steps() -> dict[str, str]:
    """The files that the section names, and what goes into each."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Adding a learner")[1].split("\n## ")[0]
    return {path: textwrap.dedent(code) + "\n" for path, _, code in STEP.findall(section)}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its laws, with the learner added."""
    folder = tmp_path_factory.mktemp("copy")
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(onkel.__file__).parent, folder / "src/onkel", ignore=unwanted)
    for name in ("laws", "oracle"):
        shutil.copytree(ROOT / "tests" / name, folder / "tests" / name, ignore=unwanted)
    for name in ("tests/__init__.py", "tests/test_layers.py", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    for path, code in steps().items():
        file = folder / path
        if file.name == "__init__.py":  # the line stands with the others, before the list that is made of them
            file.write_text(file.read_text().replace("\n\nnames = ", f"\n{code}\nnames = "))
        else:
            assert not file.exists()
            file.write_text(code)
    return folder


def run(copy: Path, *arguments: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "NUMBA_DISABLE_JIT": "0"}
    env["NUMBA_CACHE_DIR"] = str(copy / "cache")  # of code that nobody needs again
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_three_steps_are_all() -> None:
    assert list(steps()) == ["src/onkel/learners/nlms.py", "tests/oracle/nlms.py", "src/onkel/learners/__init__.py"]
    assert len(steps()["src/onkel/learners/__init__.py"].splitlines()) == 1


def test_it_keeps_the_laws_and_the_layers(copy: Path) -> None:
    """All but law 9, which runs every learner there is in another process; and its example."""
    chosen = "(NLMS or test_layers) and not test_9"
    where = "tests/laws", "tests/test_layers.py", "src/onkel/learners/nlms.py"
    done = run(copy, "pytest", "-vv", "-p", "no:cacheprovider", "-m", "not long", "--doctest-modules", "-k", chosen, *where)
    assert done.count("PASSED") > 50
    assert "nlms.py::onkel.learners.nlms PASSED" in done
    assert "test_layers.py::test_imports_point_downwards PASSED" in done


def test_it_is_public_and_listed(copy: Path) -> None:
    (copy / "public.py").write_text("import onkel; print('NLMS' in onkel.__all__, onkel.parse('NLMS') == onkel.NLMS())")
    assert run(copy, "public") == "True True\n"
    assert "NLMS" in run(copy, "onkel", "learners")
