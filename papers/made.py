"""Which commit, versions and machine made a stored result: papers/made.json.

An entry names the files that a script wrote, each with its checksum. A result that was changed or made anew without a note is
therefore known to be without one."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import threading
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "numba")
ALSO = {  # results that are not called like their script
    "forks.tables34": ("forks/table3.json", "forks/table4.json"),
}
_writing = threading.Lock()


def results(folder: Path, script: str) -> list[Path]:
    """The files of numbers that a script stores."""
    names = ALSO.get(script, (f"{script.replace('.', '/')}.json",))
    found = [folder / "papers" / name for name in names]
    return [path for path in found if path.is_file()] or [
        path.with_suffix(".md") for path in found if path.with_suffix(".md").is_file()
    ]


def note(folder: Path, script: str, seconds: float, full: bool) -> None:
    """Note that these results were made now, by this commit, on this machine."""
    entry = {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "size": "full" if full else "quick",
        "seconds": round(seconds),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "files": {path.name: _sum(path) for path in results(folder, script)},
    }
    with _writing:
        _write(folder, kept(folder) | {script: entry})


def kept(folder: Path) -> dict[str, Any]:
    file = folder / "papers" / "made.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def of(folder: Path, script: str) -> dict[str, Any] | None:
    """The note on the results as they are stored now; None if there is none."""
    entry = kept(folder).get(script)
    if entry and entry["files"] == {path.name: _sum(path) for path in results(folder, script)}:
        return dict(entry)
    return None


def _write(folder: Path, entries: dict[str, Any]) -> None:
    text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False)
    (folder / "papers" / "made.json").write_text(text + "\n", encoding="utf-8")


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _commit() -> str:
    """The commit of this repository, with a + if files were changed since."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src", "*.py")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in file.read_text().splitlines() if line.startswith("model name")]
        if file.is_file()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()
