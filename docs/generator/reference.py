"""Pages of the API reference, written from docstrings: `write` puts them into a folder as MyST Markdown.

A page has, for each of its modules, the header of the module and an entry for each public name. An entry is a directive of Sphinx's
Python domain, so it is found by search and by links. Types are left out of signatures: they are checked, and the text says more.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generator.docstrings import as_markdown, escaped
from docs.generator.names import Page, defined_in, missing, public, sections
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.protocol import Learner
from onkel.report.catalogue import about

MOST_IN_A_HEADING = 4
COMMENTED = re.compile(r"^    (\w+): ([^#\n]*)#\s*(.+)$", re.MULTILINE)


def write(folder: Path) -> list[str]:
    """Write all pages; returns the names of the files. A page that is unchanged keeps its date: Sphinx need not read it again."""
    if left := missing():
        raise InputError(f"no page of the reference holds {', '.join(left)}; add its module in docs/generator/names.py")
    names = public()
    pages = {f"{page.slug}.md": page_text(page, names) for section in sections() for page in section.pages}
    pages["index.md"] = index_text(names)
    for name, text in pages.items():
        write_changed(folder / name, text)
    return sorted(pages)


def write_changed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def index_text(names: dict[str, Any]) -> str:
    """The page that lists all names."""
    lines = [
        "# Reference",
        "",
        "Every public name, its settings, and an example. The pages are made from the docstrings, and every example on them is",
        "run by the tests. `np` stands for `numpy`.",
        "",
        "The [command line](command_line.md) has a page of its own, and so have the [symbols and terms](/project/glossary.md).",
        "",
    ]
    for section in sections():
        lines += [f"## {section.title}", "", ":::{list-table}", ":widths: 34 66", ":class: names", ""]
        for page in section.pages:
            members = [path for module in page.modules for path in defined_in(module, names)]
            links = "" if len(members) == 1 else " ".join(f"{{py:obj}}`{path.rpartition('.')[2]} <{path}>`" for path in members)
            lines += [f"* - [{escaped(page.title)}]({page.slug}.md)", f"  - {escaped(page.about)}", "", f"    {links}"]
        lines += [":::", ""]
    toc = ["```{toctree}", ":hidden:", "", "command_line", "```", ""]
    for section in sections():
        toc += ["```{toctree}", ":hidden:", f":caption: {section.title}", "", *(page.slug for page in section.pages), "```", ""]
    return "\n".join([*lines, *toc, "```{toctree}", ":hidden:", ":caption: Words", "", "/project/glossary", "```", ""])


def page_text(page: Page, names: dict[str, Any]) -> str:
    """One page of names."""
    modules = [(module, defined_in(module, names)) for module in page.modules]
    alone = len(modules) == 1
    parts = [f"# {escaped(page.title)}"] if alone else [f"# {escaped(page.title)}", escaped(page.about)]
    for module, members in modules:
        if not alone:
            together = ", ".join(value.__name__ for value in members.values())
            parts.append(f"## {escaped(together if len(members) <= MOST_IN_A_HEADING else module.rpartition('.')[2].capitalize())}")
        header = as_markdown(_header(module, members))
        parts.append(header.removeprefix(escaped(page.about)).lstrip() if not alone else header)
        parts += [entry(path, value) for path, value in members.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _header(module: str, members: dict[str, Any]) -> str:
    """The docstring of the module, unless a class repeats it word for word; without its name at the beginning."""
    text = inspect.cleandoc(sys.modules[module].__doc__ or "")
    if any(text == inspect.getdoc(value) or (inspect.getdoc(value) or "").startswith(f"{text}\n") for value in members.values()):
        return ""
    return re.sub(rf"^(?:{'|'.join(value.__name__ for value in members.values())}): (.)", lambda found: found[1].upper(), text)


def entry(path: str, value: Any) -> str:
    """One name: signature, text, facts, and the methods of a class."""
    if not inspect.isclass(value):
        return _directive("py:function", f"{path}{_signature(value)}", as_markdown(inspect.getdoc(value) or ""), depth=6)
    parts = [as_markdown(_docstring(value)), _commented(value)]
    if issubclass(value, Learner) and value is not Learner and path.startswith("onkel."):
        parts.append(_facts(value))
    for name, member, kind in () if issubclass(value, Kernel) else _members(value):  # a kernel is called; the rest is for learners
        parts.append(_directive(*_member(name, member, kind), depth=5))
    kind = "py:exception" if issubclass(value, BaseException) else "py:class"
    signature = "" if issubclass(value, BaseException | enum.Enum) else _signature(value)
    return _directive(kind, f"{path}{signature}", "\n\n".join(part for part in parts if part), depth=6)


def _docstring(value: type) -> str:
    """What the class says of itself; not the signature that a dataclass without a docstring is given."""
    text = inspect.cleandoc(value.__doc__ or "")
    return "" if text.startswith(f"{value.__name__}(") else text


def _commented(value: type) -> str:
    """Fields that are explained by a comment behind them, as those of results are."""
    if not dataclasses.is_dataclass(value):
        return ""
    found = [(name, text) for name, kind, text in COMMENTED.findall(inspect.getsource(value)) if "ClassVar" not in kind]
    return "\n\n".join(
        f"`{name}`\n: {escaped(text)}" for name, text in found if not re.search(rf"^{name}\b", _docstring(value), re.M)
    )


def _facts(learner: type) -> str:
    """When to take a learner, what it costs, and what it promises."""
    if learner.__module__.startswith("onkel.combine") and learner.__name__ not in ("Auto", "Experts"):
        return ""
    known = {key: text for key, text in about(learner).items() if text and key != "group"}
    rows = [f"* - {key}\n  - {escaped(text)}" for key, text in known.items()]
    return "\n".join([":::{list-table}", ":stub-columns: 1", ":class: facts", "", *rows, ":::"])


def _members(value: type) -> Iterator[tuple[str, Any, str]]:
    """Documented methods and properties, also those of base classes that have no entry of their own."""
    shown = {id(one) for one in public().values()}
    done: set[str] = set()
    for base in value.__mro__:
        if not base.__module__.startswith("onkel") or (base is not value and id(base) in shown):
            continue
        for name, member in vars(base).items():
            function = getattr(member, "__func__", getattr(member, "fget", getattr(member, "func", member)))
            function = getattr(function, "fn", function)  # of `available_if`
            if name.startswith("_") or name in done or not inspect.isfunction(function) or not function.__doc__:
                continue
            done.add(name)
            kind = "property" if isinstance(member, property) or hasattr(member, "func") else "method"
            yield name, member if kind == "property" else function, kind


def _member(name: str, member: Any, kind: str) -> tuple[str, str, str]:
    if kind == "property":
        return "py:property", name, as_markdown(inspect.getdoc(member) or "")
    return "py:method", f"{name}{_signature(member, bound=True)}", as_markdown(inspect.getdoc(member) or "")


def _signature(value: Any, bound: bool = False) -> str:
    signature = inspect.signature(value)
    parameters = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    if bound and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    return re.sub(r"<[^<>]*>", "...", str(signature.replace(parameters=parameters, return_annotation=signature.empty)))


def _directive(kind: str, signature: str, text: str, depth: int) -> str:
    fence = "`" * depth
    return f"{fence}{{{kind}}} {signature}\n\n{text}\n{fence}"
