"""The page of the command line, from the same texts as `onkel --help`."""

from __future__ import annotations

import re

from cyclopts import App

from docs.generator.docstrings import escaped

MARK = re.compile(r" \*+\[([^\]]*)\]\*+")  # what cyclopts adds: choices, default, required
HEAD = """# Command line

Written from the help of the program: `onkel run --help` says the same. Each command takes `--json`. Guides:
[your data](/data.md), [streams that change](/changing.md), [saving, resuming, serving](/saving.md).

Exit codes: 0 for success, 1 for an error (reported in one line), 2 for a command that was not understood, 130 after Ctrl-C."""


def command_line(app: App) -> str:
    """The page, as MyST Markdown."""
    told = app.generate_docs(output_format="markdown", recursive=True)
    text = re.sub(r"^(onkel \w+) -m \S+ ", r"\1 ", told, flags=re.MULTILINE)  # how this process was started
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    commands = [section for section in sections if not section.startswith(("Table", "onkel --"))]
    return "\n\n".join([HEAD, *(_command(section) for section in commands)]) + "\n"


def _command(section: str) -> str:
    """One command: what it does, its examples, and tables of its arguments and options."""
    title, _, body = section.partition("\n")
    parts = [f"## {title}"]
    for block in re.split(r"\n\n(?! )", body.strip()):
        if block.startswith("* `"):
            parts.append(_definitions(block))
        elif block.startswith("Examples:"):
            parts.append("```console\n" + "\n".join(line[4:] for line in block.splitlines()[1:] if line.strip()) + "\n```")
        elif block.startswith("**"):
            parts.append(f"### {block.strip('*: ').capitalize()} of {title.removeprefix('onkel ')}")
        else:
            parts.append(block if block.startswith("```") else escaped(block))
    return "\n\n".join(parts)


def _definitions(block: str) -> str:
    found = []
    for item in re.split(r"^\* ", block, flags=re.MULTILINE)[1:]:
        name, text = re.match(r"(`[^`]+`): (.*)", item, flags=re.DOTALL).groups()  # type: ignore[union-attr]
        text = re.sub(r"\s+", " ", text)
        marks = [mark for mark in MARK.findall(text) if mark != "default: False"]
        remarks = f" *({escaped('; '.join(marks))})*" if marks else ""
        found.append(f"{name}\n: {escaped(MARK.sub('', text).strip())}{remarks}")
    return "\n\n".join(found)
