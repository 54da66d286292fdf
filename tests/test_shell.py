"""The command line in odd surroundings: no traceback anywhere, and exit codes that a script can rely on."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

import onkel
from onkel.cli import watch
from onkel.cli.shell import PLAINER, ErrorStream, Output, Unread, shell
from tests.test_cli import onkel_call, write_csv

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]

CLOSED = "onkel: cannot write to the standard output: it is closed; the output is incomplete; write to another place\n"
FULL = "onkel: cannot write to the standard output: No space left on device; the output is incomplete; write to another place\n"


def sh(
    line: str, folder: Path, environment: Mapping[str, str] = MappingProxyType({}), stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """What bash does with a line in which `onkel` is ours."""
    return subprocess.run(
        ["bash", "-c", f'onkel() {{ {sys.executable} -m onkel "$@"; }}; {line}'],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """With data and a model."""
    monkeypatch.chdir(tmp_path)
    write_csv(Path("prices.csv"), *onkel.data.friedman(300, dim=5, seed=0))
    assert onkel_call(monkeypatch, "run", "prices.csv", "--target", "price", "--save", "m.onkel") == 0
    capsys.readouterr()
    return tmp_path


STREAMS = {
    # a line: exit code, beginning of the output, errors
    "onkel --version >&-": (1, "", CLOSED),
    "onkel --version > /dev/full": (1, "", FULL),
    "onkel --help <&- 2>&-": (0, "Usage: onkel COMMAND", ""),
    "onkel predict m.onkel prices.csv > /dev/full": (1, "", FULL),
    "onkel predict m.onkel - --format csv <&-": (1, "", "onkel: the standard input cannot be read: Bad file descriptor"),
}


@pytest.mark.parametrize("line", STREAMS)
def test_streams_that_are_closed_or_full(line: str, folder: Path) -> None:
    code, out, errors = STREAMS[line]
    done = sh(line, folder)
    assert (done.returncode, done.stdout[: len(out)]) == (code, out)
    assert done.stderr.startswith(errors) if errors else done.stderr == ""
    assert done.stderr.count("\n") <= 1


def test_a_run_whose_streams_are_closed_is_saved_and_no_file_takes_their_place(folder: Path) -> None:
    done = sh("onkel run prices.csv --target price --learner PKAWV --save closed.onkel <&- >&- 2>&-", folder)
    assert done.returncode == 1  # its result could not be told
    assert (folder / "closed.onkel").read_bytes() == (folder / "m.onkel").read_bytes()


@pytest.fixture
def unread() -> Iterator[int]:
    """The end of a pipe whose reader has left."""
    inside, outside = os.pipe()
    os.close(inside)
    yield outside
    with contextlib.suppress(OSError):
        os.close(outside)


def test_a_reader_that_leaves_early_ends_the_command_without_error(unread: int, tmp_path: Path) -> None:
    done = sh("onkel --help", tmp_path, stdout=unread)
    assert (done.returncode, done.stderr) == (0, "")
    stream = io.BufferedWriter(Output(unread, "w"))
    stream.write(b"x" * 10)
    with pytest.raises(Unread):
        stream.flush()
    stream.close()  # as Python does when it ends: no second error


def test_errors_that_nobody_reads_do_not_end_the_command(unread: int) -> None:
    with ErrorStream(unread, "w") as stream:
        assert stream.write(b"progress") == 8


def test_signs_that_an_encoding_lacks() -> None:
    with shell():
        text = "µs … 2 ± 1, O(k²·m), ≤ −1, Zoë ½ \udce9 日 ⠋ ╭─│┼"
        assert text.encode("ascii", PLAINER) == rb"us ... 2 +- 1, O(k^2*m), <= -1, Zoe \xbd \udce9 \u65e5 * +-|+"
        assert "µ…½\udce9".encode("latin-1", PLAINER) == b"\xb5...\xbd" + rb"\udce9"


@pytest.mark.parametrize(
    "surroundings",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["PYTHONIOENCODING", "LC_ALL"],
)
def test_ascii_terminals(surroundings: dict[str, str], tmp_path: Path) -> None:
    done = sh("onkel --help", tmp_path, surroundings)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "+- Commands -" in done.stdout


def test_data_are_utf8_whatever_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("towns.csv").write_text("x,town\n" + "1,Köln\n2,Århus\n" * 20, encoding="utf-8")
    assert onkel_call(monkeypatch, "run", "towns.csv", "--target", "town", "--save", "m.onkel") == 0
    assert onkel_call(monkeypatch, "predict", "m.onkel", "towns.csv", "--out", "a.csv", "--probabilities") == 0
    done = sh("onkel predict m.onkel towns.csv --probabilities > b.csv", tmp_path, {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert Path("a.csv").read_text(encoding="utf-8").splitlines()[1].startswith("Köln,")


@pytest.mark.parametrize("width", [1, 20, 50])
def test_narrow_pages(width: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (["run", "prices.csv", "--target", "price", "--save", "n.onkel"], ["data", "prices.csv"]):
        assert onkel_call(monkeypatch, *arguments) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= max(width, 10)
        assert "".join(shown.split()).count("price") >= 1
    assert onkel_call(monkeypatch, "run", "nowhere.csv", "--target", "price") == 1
    assert max(map(len, capsys.readouterr().err.splitlines())) <= max(width, 10)


def test_a_table_too_wide_for_the_page_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    words = []
    for width in ("200", "24"):
        monkeypatch.setenv("COLUMNS", width)
        assert onkel_call(monkeypatch, "data", "prices.csv") == 0
        words.append({word.rstrip(":") for word in capsys.readouterr().out.split()})
    assert words[0] - words[1] == {"column"}  # the heading of the names, which stand alone


@pytest.mark.parametrize(("term", "is_drawn"), [("dumb", False), ("xterm", True)])
def test_progress_on_a_terminal_that_cannot_draw_is_plain_lines(
    term: str, is_drawn: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_LINES", 0.0)
    with watch.ProgressLine(100) as shown:
        shown.show(50, lambda: {"rms error": "2.5"})
    said = capsys.readouterr().err
    assert ("\x1b" in said) is is_drawn
    assert ("50 rows, " in said.splitlines()[0]) is not is_drawn


def test_names_that_are_not_utf8(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    name, model, other = (os.fsdecode(raw) for raw in (b"caf\xe9.csv", b"m\xe9.onkel", b"no\xe9"))
    Path("prices.csv").rename(name)
    assert onkel_call(monkeypatch, "run", name, "--target", "price", "--json", "--save", model) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["file"], told["saved"]) == (name, model)
    assert Path(model).read_bytes() == Path("m.onkel").read_bytes()
    for command in (["run", name, "--target", "price"], ["data", name], ["compare", name, "PKAWV", "--target", "price"]):
        assert onkel_call(monkeypatch, *command) == 0
        assert capsys.readouterr().out.startswith(r"caf\udce9.csv: ")
    wrong = {
        ("predict", model, name, "--out", f"{other}/p.csv"): r"cannot write no\udce9/p.csv: there is no folder no\udce9; ",
        ("predict", other, name): r"cannot load no\udce9: there is no such file",
        ("data", other): r"no\udce9 ",
    }
    for arguments, said in wrong.items():
        assert onkel_call(monkeypatch, *arguments) == 1
        assert capsys.readouterr().err.startswith(f"onkel: {said}")
    done = sh("onkel $'no\\xe9'", folder)
    assert done.returncode == 2
    assert r"no\udce9" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


INTERRUPTED = """
import signal, sys
from onkel.cli import main
{}
sys.argv = ["onkel", "predict", "m.onkel", "prices.csv", "--out", "interrupted.csv"]
main()
"""
MOMENTS = {
    "importing, where it would be swallowed": """
import importlib.abc
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "onkel.cli.predict":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                pass
sys.meta_path.insert(0, Finder())
""",
    "writing": """
import onkel.cli.predict as module
real = module._rows
def rows(*given):
    signal.raise_signal(signal.SIGINT)
    return real(*given)
module._rows = rows
""",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_ends_a_command_with_one_line(moment: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(MOMENTS[moment])],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it is ignored in jobs in the background
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "onkel: stopped\n")
    assert not [name for name in os.listdir(folder) if name.startswith(".onkel") or name == "interrupted.csv"]


def test_the_handler_of_whoever_calls_main_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert onkel_call(monkeypatch, "learners", "--json") == 0
    assert signal.getsignal(signal.SIGINT) is before
