"""The commands and the Python lines of docs/serve.md, run against a server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.running import Running
from tests.snippets import ROOT

pytestmark = pytest.mark.once

PAGE = ROOT / "docs" / "serve.md"
ADDRESS = "localhost:8000"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_every_curl_of_the_page_is_answered(tmp_path: Path) -> None:
    server = Running(tmp_path)
    commands = re.findall(r"^curl .*$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        there = command.replace(ADDRESS, server.url.removeprefix("http://"))
        done = subprocess.run(["bash", "-c", f"{there} --silent --show-error --fail-with-body"], capture_output=True, check=False)
        assert done.returncode == 0, (command, done.stdout)
        assert "error" not in json.loads(done.stdout) or json.loads(done.stdout)["error"] is None
    server.stop()


def test_the_python_lines_of_the_page_run(tmp_path: Path) -> None:
    server = Running(tmp_path)
    (lines,) = re.findall(r"^(with onkel.Client\(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec("import onkel\n" + lines.replace(f"http://{ADDRESS}", server.url))
    assert server.ask("GET", "/models/prices")[1]["rows"] == 1
    server.stop()
