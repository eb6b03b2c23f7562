"""How the documentation is built as a site: `make docs`."""

from __future__ import annotations

project = "igq"
author = "igq contributors"

extensions = ["myst_parser", "sphinxcontrib.mermaid"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Fenced as on GitHub, which draws them too.
myst_fence_as_directive = ["mermaid"]
exclude_patterns = ["examples", "generator"]

html_theme = "furo"
html_title = "igq"
html_show_sourcelink = False
