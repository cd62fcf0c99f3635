"""Settings of Sphinx for deploy/docs."""

import re
from importlib import metadata

project = "Palpate"
copyright = "the authors of Palpate"
release = metadata.version("palpate")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Pages of the repository that are no part of the site: the site has them in another form, or they are of a release.
exclude_patterns = [
    "deploy/site",
    "clients/unity/CHANGELOG.md",
    "clients/c/sdk",
    "target",
]
# The names of sections are links, as on a forge.
myst_heading_anchors = 4
# Sections of a level that a page leaves out, and answers in part.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
# Docstrings have names in single backquotes.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = f"Palpate {release}"
html_copy_source = False
html_show_sphinx = False


def lead_to_pages(app, docname, content):  # type: ignore[no-untyped-def]
    """A link to a folder leads to its page, as on a forge."""
    folder = app.env.doc2path(docname).parent

    def page(link):  # type: ignore[no-untyped-def]
        there = folder / link[2]
        if there.is_dir():
            return f"{link[1]}({link[2].rstrip('/')}/README.md)" if (there / "README.md").exists() else link[1][1:-1]
        return link[0]

    content[0] = re.sub(r"(\[[^\]]*\])\(((?!https?:|#|mailto:)[^)#\s]+)\)", page, content[0])


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("source-read", lead_to_pages)
