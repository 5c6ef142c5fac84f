"""Settings of Sphinx. ``make docs`` builds the pages in out/docs; they can be read without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from generate import write_reference  # noqa: E402

from supercloud import __version__  # noqa: E402

project = "supercloud"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"supercloud {release}"
html_copy_source = False
html_show_sourcelink = False
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
autodoc_typehints = "description"
smartquotes = False  # quotes and dashes of commands and options stay as they are typed
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
copybutton_prompt_text = "$ "
linkcheck_ignore = [r"https://example\.com.*"]


def setup(app: Any) -> None:
    """Write the generated pages of the reference before Sphinx reads the sources."""
    write_reference(Path(app.srcdir) / "reference")
