"""How the documentation is built as a site: `make docs`."""

from __future__ import annotations

project = "igq"
author = "igq contributors"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Most blocks without a language are commands or pictures.
highlight_language = "none"
exclude_patterns = ["examples", "generator"]

html_theme = "furo"
html_title = "igq"
html_show_sourcelink = False
html_show_copyright = False
