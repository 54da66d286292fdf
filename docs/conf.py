"""The documentation site: `make docs`. It needs no network, neither to build nor to read, and a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import onkel  # noqa: E402
from docs.generator import reference, repository  # noqa: E402
from docs.generator.command_line import command_line  # noqa: E402
from docs.generator.names import public  # noqa: E402
from onkel.cli.app import app as commands  # noqa: E402

project, author, copyright = "onkel", "the authors of onkel", "the authors of onkel, BSD-3-Clause"
release = version = onkel.__version__
extensions = ["myst_parser", "sphinx_design", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "README.md", "generator"]
nitpicky = True
smartquotes = False
maximum_signature_line_length = 88
add_module_names = True
toc_object_entries_show_parents = "hide"
pygments_style, highlight_language = "default", "text"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page that is copied may begin anywhere

html_theme = "pydata_sphinx_theme"
html_title = "onkel"
html_static_path = ["css"]
html_css_files = ["onkel.css"]
html_favicon = "img/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
templates_path: list[str] = []
html_theme_options = {
    "logo": {"text": "onkel"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars: dict[str, list[str]] = {"index": [], "gallery/*": []}

for page in (ROOT / "docs" / "gallery").glob("plot_*"):  # of earlier builds
    if not (ROOT / "examples" / "gallery" / f"{page.name.partition('.')[0]}.py").exists():
        page.unlink()
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # these pages would load scripts from the net
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "matplotlib_animations": False,
    "thumbnail_size": (640, 420),
}


class LinkedNames(SphinxTransform):
    """Makes a link of each public name that stands as code in running text, such as `PKAWV` or `onkel.regret`."""

    default_priority = 1  # before references are resolved

    def apply(self, **_: Any) -> None:
        by_name = {path.removeprefix("onkel."): path for path in NAMES}
        for literal in list(self.document.findall(nodes.literal)):
            path = by_name.get(literal.astext().removeprefix("onkel.").removesuffix("()"))
            if path is None or _is_link_or_heading(literal):
                continue
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=path, refexplicit=True, refdoc=self.env.docname)
            literal.replace_self(link)
            link += literal


NAMES = public()


def _is_link_or_heading(node: nodes.Node) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, nodes.title | nodes.reference | pending_xref | desc_signature | nodes.term):
            return True
        parent = parent.parent
    return False


def write_pages(app: Sphinx) -> None:
    """Everything that is generated, before Sphinx looks for pages."""
    folder = Path(app.srcdir)
    reference.write(folder / "reference")
    reference.write_changed(folder / "reference/command_line.md", command_line(commands))
    repository.copy()


def relink(app: Sphinx, name: str, content: list[str]) -> None:
    """Links to files outside of the site."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md" and page not in repository.COPIES.values():
        content[0] = repository.relinked(content[0], page, page)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", lambda app, _: write_pages(app), priority=100)
    app.connect("source-read", relink)
    app.add_transform(LinkedNames)
