"""`--help` of every script of papers/ says what the script does, and does nothing else."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (ROOT / "papers").rglob("*.py") if '__name__ == "__main__"' in path.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_help_only_explains(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [script.stem, "--help"])
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: pytest.fail(f"{script.name} --help writes a file"))
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(script), run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")
