"""The page that says how to cite: BibTeX made from CITATION.cff."""

from __future__ import annotations

import unicodedata
from typing import Any

import yaml

TYPES = {"software": "software", "conference-paper": "inproceedings", "article": "article"}
HEAD = """# How to cite

If onkel helps your research, please cite it, and the paper of the learner that you used: its page in the
[reference](/reference/index.md) names it. The entries are made from `CITATION.cff`, which GitHub and reference managers
read too."""


def page(cff: str) -> str:
    """The page, as MyST Markdown, from the text of a CITATION.cff."""
    told = yaml.safe_load(cff)
    papers = "\n\n".join(entry(paper) for paper in told["references"])
    return f"{HEAD}\n\n## onkel\n\n{_block(entry(told))}\n\n## The papers\n\n{_block(papers)}\n"


def entry(work: dict[str, Any]) -> str:
    """One entry of BibTeX. What CITATION.cff does not say is left out."""
    fields = {
        "author": " and ".join(_author(one) for one in work["authors"]),
        "title": f"{{{work['title']}}}",
        "booktitle": work.get("collection-title"),
        "journal": work.get("journal"),
        "version": work.get("version"),
        "license": work.get("license"),
        "year": work.get("year"),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{TYPES[work['type']]}{{{_key(work)},", *lines, "}"])


def _author(one: dict[str, str]) -> str:
    """A person, or a group, whose name is not to be cut into first and last name."""
    return f"{one['family-names']}, {one['given-names']}" if "family-names" in one else f"{{{one['name']}}}"


def _key(work: dict[str, Any]) -> str:
    """As in calandriello2017; of a group the first word of the title."""
    first = work["authors"][0]
    name = first.get("family-names") or work["title"].partition(":")[0]
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()  # older BibTeX knows no other letters
    return f"{''.join(filter(str.isalnum, plain))}{work.get('year', '')}"


def _block(bibtex: str) -> str:
    return f"```bibtex\n{bibtex}\n```"
