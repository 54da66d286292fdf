"""The documentation: every snippet runs, every public name has an example, and the site is built without a warning."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onkel
from docs.generator import citation, command_line, docstrings, names, reference, repository
from onkel.cli.app import app
from onkel.data.named import GENERATED, SCIKIT_LEARN
from tests.snippets import ROOT, Session, Snippet, commands, not_there, snippets, write_files

pytestmark = pytest.mark.once

DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def runs(page: Path, long: bool) -> bool:
    return any(snippet.long is long for snippet in snippets(page.read_text()))


def read_through(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, long: bool) -> int:
    """Run the snippets of a page as one reader; long ones only if asked."""
    write_files(folder)
    session = Session(folder, monkeypatch)
    chosen = [snippet for snippet in snippets(page.read_text()) if long or not snippet.long]
    for snippet in chosen:
        session.run(snippet, page.name)
    return len(chosen)


@pytest.mark.parametrize("page", [page for page in WRITTEN if runs(page, long=False)], ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:river")
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_through(page, tmp_path, monkeypatch, long=False) > 0


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in WRITTEN if runs(page, long=True)], ids=lambda page: page.stem)
def test_the_long_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_through(page, tmp_path, monkeypatch, long=True) > 0


def test_what_is_a_snippet() -> None:
    page = """
```python
print(1)
```

```text
1
```

<!-- run
hidden = 2
-->

```
onkel data
```

<!-- long -->

```sh
onkel learners
```

```
drawing
```
"""
    assert snippets(page) == [
        Snippet(2, "python", "print(1)\n", "1\n"),
        Snippet(10, "python", "hidden = 2"),
        Snippet(14, "sh", "onkel data\n"),
        Snippet(20, "sh", "onkel learners\n", long=True),
    ]


def test_a_snippet_that_is_wrong_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(tmp_path, monkeypatch)
    wrong = [
        Snippet(1, "python", "print(1)", "2\n"),
        Snippet(1, "pycon", ">>> 1\n2\n"),
        Snippet(1, "sh", "onkel run nothing.csv\n"),
        Snippet(1, "sh", "make coffee\n"),
        Snippet(1, "sh", "python bench/nothing.py\n"),
    ]
    for snippet in wrong:
        with pytest.raises(AssertionError):
            session.run(snippet, "page")


# --- the commands that stand beside figures


@pytest.mark.parametrize(
    "page", [*WRITTEN, *sorted(ROOT.glob("papers/*/README.md"))], ids=lambda page: f"{page.parent.name}/{page.stem}"
)
def test_commands_in_running_text_name_what_exists(page: Path) -> None:
    """`python bench/…`, `python -m papers.…` and `make …` between backticks."""
    told = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"`((?:ONKEL_DATA=\w+ )?(?:python |make )[^`]+)`", told)
    assert [wrong for code in found for command in commands(code) if (wrong := not_there(command.split()))] == []


# --- the reference


def test_every_public_name_has_an_example_on_its_page() -> None:
    """What a function returns is seen in that function's example."""
    public = names.public()
    lacking = []
    for page in names.pages():
        shown = "\n".join(re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", reference.page_text(page, public), flags=re.MULTILINE))
        used = set(re.findall(r"[A-Za-z_]\w*", shown))
        members = {path: value for module in page.modules for path, value in names.defined_in(module, public).items()}
        lacking += [
            path
            for path, value in members.items()
            if path.rpartition(".")[2] not in used and ">>>" not in (inspect.getdoc(value) or "") and not is_returned(value)
        ]
    assert lacking == []


def is_returned(value: object) -> bool:
    """A class of results, whose module shows by an example how one is made."""
    functions = vars(sys.modules[value.__module__]).values()
    makers = [
        one for one in functions if inspect.isfunction(one) and one.__annotations__.get("return") == getattr(value, "__name__", "")
    ]
    return inspect.isclass(value) and any(
        ">>>" in (one.__doc__ or "") + (sys.modules[one.__module__].__doc__ or "") for one in makers
    )


def test_every_public_name_is_explained_on_a_page() -> None:
    assert names.missing() == []
    for path, value in names.public().items():
        explained = reference._docstring(value) if inspect.isclass(value) else inspect.getdoc(value)
        assert explained, f"{path} has no docstring"


def test_every_field_is_an_entry_of_a_list() -> None:
    text = reference.entry("onkel.PKAWV", onkel.PKAWV)
    for field in ("features", "lam", "awv", "forgetting"):
        assert re.search(rf"^`{field}`\n: \S", text, flags=re.MULTILINE)
    text = reference.entry("onkel.measure.Result", onkel.measure.Result)  # explained by comments behind the fields
    assert re.search(r"^`baselines`\n: metrics of predictions", text, flags=re.MULTILINE)
    assert "``````{py:function} onkel.regret(scores, X, y" in reference.entry("onkel.regret", onkel.regret)


def test_a_docstring_becomes_markdown() -> None:
    docstring = """A ridge: y_t against |f|, in [0, 1].

    A ← A + z zᵀ

    b ← b + y z

lam       the ridge *λ*
          on two lines
width, w  `sigma`

- one_thing
- another

Departs from the paper: nothing.
Some more.
>>> 1 + 1
2
"""
    expected = r"""A ridge: y\_t against \|f\|, in \[0, 1\].

```text
A ← A + z zᵀ

b ← b + y z
```

`lam`
: the ridge \*λ\* on two lines

`width`, `w`
: `sigma`

- one\_thing
- another

**Departs from the paper:** nothing.
Some more.

```pycon
>>> 1 + 1
2
```"""
    assert docstrings.as_markdown(docstring) == expected


def test_settings_with_code_on_the_left_are_no_fields() -> None:
    assert docstrings.as_markdown("state = learner.init()     all of it\nscores = learner.learn()   more").startswith("```text")


def test_the_page_of_the_command_line_has_every_option() -> None:
    page = command_line.command_line(app)
    for command in ("run", "compare", "predict", "learners", "data"):
        assert f"\n## onkel {command}\n" in page
    for option in ("--target", "--resume", "--keep", "--seeds", "--lags"):
        assert re.search(rf"^`{option}[^`]*`\n: \S", page, flags=re.MULTILINE)


def test_links_out_of_the_site_become_names_of_files() -> None:
    page = DOCS / "start.md"
    told = repository.relinked("[the laws](../tests/laws) and [CONTRIBUTING](../CONTRIBUTING.md#x), [here](data.md)", page, page)
    assert told == "the laws (`tests/laws`) and [CONTRIBUTING](project/contributing.md#x), [here](data.md)"


def test_results_of_papers_have_titles_and_stand_in_the_contents_of_their_report() -> None:
    copies = {source: page for source, page in repository.COPIES.items() if page.parent.name == "papers"}
    reports = {source.parent: repository.copied(source) for source in copies if source.name == "README.md"}
    results = [source for source in copies if source.name != "README.md"]
    assert len(results) > len(reports) == 5
    for source in results:
        made, (title, *_) = repository.copied(source), reports[source.parent].splitlines()
        assert re.match(rf"{re.escape(title)}: [A-Z]", made)
        assert len(re.findall(r"^# ", made, flags=re.MULTILINE)) == 1
        assert "orphan" not in made
        assert f" <{copies[source].stem}>\n" in reports[source.parent]
    assert all(".venv/bin/python" in report and "onkel[plot]" in report for report in reports.values())


def test_bibtex_is_that_of_the_citation_file() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    page = citation.page(cited)
    assert len(re.findall(r"^@", page, flags=re.MULTILINE)) == 1 + len(re.findall(r"^  - type:", cited, flags=re.MULTILINE))
    assert "@software{onkel,\n  author = {{The onkel developers}},\n  title = {{onkel: online kernel learning}}," in page
    assert f"  version = {{{onkel.__version__}}}," in page
    assert "@inproceedings{jezequel2019,\n  author = {Jézéquel, Rémi and Gaillard, Pierre and Rudi, Alessandro}," in page
    assert page.count("{") == page.count("}")


def test_the_origin_of_every_set_is_told() -> None:
    """Of every set that has a name without a folder or a download, and of every set that is compared."""
    page = (DOCS / "sources.md").read_text()
    [first, *_] = re.findall(r"^\| error:.*?\n\n", (DOCS / "peers.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    compared = re.findall(r"^\| ([\w-]+) \| ", first, flags=re.MULTILINE)[1:]
    assert len(compared) > 20
    told = {name for cell in re.findall(r"^\| ([^|]+) \|", page, flags=re.MULTILINE) for name in re.findall(r"[\w-]+", cell)}
    assert {*SCIKIT_LEARN, *GENERATED, *compared} - told == set()


# --- the site


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.parent == DOCS], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the repository, so that they also work where the Markdown itself is read, or to a page that is generated."""
    told = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    generated = {f"reference/{one.slug}.md" for one in names.pages()} | {
        "reference/index.md",
        "reference/command_line.md",
        "gallery/index.rst",
    }
    targets = [target for target in re.findall(r"\]\(([^)#]+)", told) if not target.startswith("http")]
    assert [target for target in targets if target not in generated and not (page.parent / target).exists()] == []


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_gallery")
    options = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    build = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "html")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    done = subprocess.run(build, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert 'href="reference/pkawv.html#onkel.PKAWV"' in (tmp_path / "html/choose.html").read_text()  # a name in running text
    pages = sorted((tmp_path / "html").rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        loaded = re.findall(
            r"""<(?:script|img|link|iframe|source)[^>]*?(?:src|href)=["']((?:https?:)?//[^"']+)""", page.read_text()
        )
        assert loaded == [], page.name
    for sheet in (tmp_path / "html/_static").rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet.name


def test_the_top_bar_has_six_entries() -> None:
    entries = re.findall(r"^(\w+) <[\w/]+>$", (DOCS / "index.md").read_text(), flags=re.MULTILINE)
    assert entries == ["Start", "Guide", "Gallery", "Theory", "Reference", "Project"]


def test_every_page_is_reached_from_another() -> None:
    """Each page that is written by hand stands in a table of contents."""
    listed = set()
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            listed |= {re.sub(r".*<(.*)>", r"\1", line.strip()) for line in block.splitlines() if line and not line.startswith(":")}
    assert [page.stem for page in DOCS.glob("*.md") if page.stem not in listed | {"index"}] == []
